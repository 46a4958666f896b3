/** Limits that users can reach; names contain the unit. `Chars` are UTF-16 code units, `Bytes` are in UTF-8. */

// --- references ---
/** Characters after which undecided text counts as plain text (specification, `reference language`, rule 5). */
export const maxHeldChars = 512;
/** Length of a variable name in the grammar. */
export const maxNameChars = 64;
/** Nesting of arrays and objects in inputs and values, for shallow recursion; how many, of 80 bytes, a value has. */
export const maxDepth = 200;
export const maxContainers = 1_000_000;
/** References in one tool input. An input that needs more should be one reference. */
export const maxReferencesPerInput = 1_000;
/** Text that one embedded reference may insert into a string of a tool input. */
export const maxEmbeddedChars = 1_048_576;
/** Text that the references of one tool input may insert, counted at each occurrence, with or without a path. */
export const maxResolvedInputChars = 16_777_216;
/** Text that all tool calls of one model response may insert together. */
export const maxStepInputChars = 67_108_864;
/** Tool calls of one model response. Further calls fail; the model can repeat them in its next response. */
export const maxStepCalls = 100;
/** Work of reading references for a response or the calls of a step: characters read, and parts visited. */
export const maxReadWork = 134_217_728;
/** Work of all reads of one code or plan run. Each of its calls also has its own `maxReadWork`. */
export const maxRunReadWork = 1_073_741_824;
/** Keys that a failed lookup compares and lists; failed lookups of an input or response that suggest names. */
export const maxMissKeys = 1_000;
export const maxExplainedMisses = 200;
/** Text that the references of one response may add. Further references stay as written. */
export const maxExpansionChars = 16_777_216;
/** Values in an answer's receipt, which is stored with it; their JSON text that is digested. */
export const maxReceiptSpans = 1_000;
export const maxDigestedChars = 16_777_216;

// --- rendering ---
export const maxTableRows = 50;
export const maxTableColumns = 12;
export const maxInlineJsonChars = 2_000;
export const maxBlockJsonChars = 20_000;
/** Slice size of long strings. Lets a slow reader apply backpressure. */
export const maxSliceChars = 65_536;

// --- model context ---
/** Size, as JSON, up to which a tool result is shown in full. */
export const maxShownResultChars = 1_000;
export const maxHandleChars = 800;
export const maxShapeChars = 300;
export const maxPreviewChars = 200;
export const maxListedVariables = 20;
export const maxTryPaths = 4;
/** Size up to which an image that the model reads is shown as an image. */
export const maxShownImageBytes = 1_048_576;
/** Images of one turn in a prompt, newest first. Each takes up to 1.4 MB, and every step sends them again. */
export const maxShownImages = 4;
/** A longer text in a user message is saved as a variable. */
export const maxMessageTextChars = 20_000;
/** Earlier messages in a prompt. Above it, the oldest turns are in outline only. Agents may change it. */
export const historyChars = 24_000;
export const summarizeMs = 60_000;
/** The last two turns of a prompt, which are not in outline although they exceed `historyChars`. */
export const maxHistoryChars = 120_000;
/** The context window of a model, in tokens, unless its agent says otherwise. */
export const contextTokens = 200_000;
export const maxListedShapeChars = 100;
/** JSON added to a tool's schema so that its parameters accept references. */
export const maxWidenedChars = 16_384;
/** Length of a parameter's schema in the guide to capability tags. */
export const maxSchemaTextChars = 300;
/** JSON that a tool that shows variables may add to the prompt at once; variables that `list_variables` returns. */
export const maxVariableOutputChars = 8_000;
export const maxAskedVariables = 100;
/** Edits of one call; characters that they read together, beside five times the text; that they add; lines of a diff. */
export const maxEdits = 100;
export const maxEditWork = 100_000_000;
export const maxEditedChars = 16_777_216;
export const maxDiffLines = 60;
/** Hits of one search; length of a provider's error message. */
export const maxSearchHits = 50;
export const maxModelErrorChars = 500;

// --- variables ---
/** Size up to which a value is stored in its row. Larger values are stored in chunk rows. */
export const maxRowBytes = 65_536;
/** Size of one chunk row: half of the platform's limit of 2 MB for a row, string or BLOB. */
export const maxChunkBytes = 1_048_576;
/** Size above which a value is stored in the bucket, if one is bound. For bytes, the threshold is `maxRowBytes`. */
export const maxChunkedBytes = 8_388_608;
/** Size of a text, of bytes or of an array of records. JSON that has to be parsed has its own limit. */
export const maxValueBytes = 99_614_720;
/** All values of a conversation. Above it, the least recently used variables are evicted. */
export const maxConversationBytes = 268_435_456;
/** Distance between marks, which record where elements or characters of a large array or text begin. */
export const markBytes = 262_144;
/** Size of an upload part. R2 requires at least 5 MiB and equal sizes, except for the last part. */
export const uploadPartBytes = 8_388_608;
/** Size of a SQL value that the platform rejects in production but local workerd accepts. `DurableSql` enforces it. */
export const maxSqlValueBytes = 2_000_000;
/** JSON that the object parses or serializes. Parsed JSON takes about twice the memory of its text. */
export const maxJsonBytes = 16_777_216;
/** A call's input, as JSON, stored with the variable that it created; in lists, which omit a longer one. */
export const maxInputBytes = 1_048_576;
export const maxListedInputBytes = 4_096;
/** Earlier versions of a variable, by default. */
export const keptVersions = 2;
/**
 * Columns of a CSV; characters of its names in all records together, beside 100 for each of its own; cells of a
 * written one, beside 50 for each field.
 */
export const maxCsvColumns = 10_000;
export const maxCsvNameChars = 131_072;
export const maxCsvCells = 5_000_000;
export const maxTombstones = 1_000;
/** Idle time after which a variable is evicted, unless it is pinned. */
export const variableIdleMs = 86_400_000;
/** Idle time after which a conversation is deleted. */
export const conversationIdleMs = 2_592_000_000;
export const maxDescriptionChars = 500;
export const maxTitleChars = 200;
/** Delay after which access times, and queries in the audit log, are written in one batch. */
export const accessFlushMs = 5_000;

// --- events ---
/** Events that are stored, newest first, in whole rows. */
export const maxEvents = 10_000;
/** Unread events of a live reader. A slower reader is disconnected. */
export const maxEventBacklogBytes = 1_048_576;

// --- turns ---
/** Model calls in one turn. */
export const maxSteps = 20;
export const maxQueuedTurns = 8;
export const turnMs = 900_000;
/** Validity of an Idempotency-Key. */
export const idempotencyMs = 86_400_000;
/** Variable changes that a turn's stream reports. The list of variables is authoritative. */
export const maxTurnChanges = 5_000;
/** Further attempts at a turn whose end cannot be written, for example because storage is full. */
export const maxTurnTries = 10;
/** Consecutive attempts in which the process died without progress. The turn itself may be the cause. */
export const maxTurnDeaths = 3;
/** Depth of agents that call one another, below the first one. */
export const maxDelegateDepth = 3;
/** Interval or amount of text after which a turn's output is logged. Steps and results are logged at once. */
export const turnLogMs = 2_000;
export const turnLogChars = 16_384;
/** Size of one row of a turn's log. Above it, the next row begins. */
export const turnLogRowChars = 262_144;
/** Time without output from a model, before its first part and between two parts. */
export const modelSilenceMs = 60_000;
export const toolMs = 60_000;

/** Lease of a turn on its tenant's quota, beside what it needs at once. Most steps then need no request for one. */
export const lease = { modelCalls: 4, toolCalls: 16, tokens: 10_000 } as const;
/** Time without a response after which a tenant's deletion leaves a conversation for its next pass. */
export const deletionMs = 30_000;
/** Titles that one page of a search reads. */
export const maxSearchedTitles = 10_000;
/** Time without a response after which a request to the directory is repeated or skipped. */
export const directoryMs = 5_000;
/** Divisor of the calls that are left: a lease takes at most this share, and one call near the end. Not for tokens. */
export const leaseShare = 64;
/** The longest wait that a provider's Retry-After may request. */
export const maxRetryAfterMs = 60_000;
/** Length of an input that is shown for approval. */
export const maxApprovalChars = 2_000;
/** Decisions about calls that `byref/agent` stores for one store until the calls run. */
export const maxPendingDecisions = 1_000;

// --- plans ---
export const maxPlanCalls = 200;
export const maxPlanBytes = 1_048_576;
/** Findings that explain why a plan cannot run. One more finding reports how many were omitted. */
export const maxPlanFindings = 50;
/** Outputs of one call. */
export const maxOutputPlaces = 100;
/** Reported problems of a run's input or of a request body. The rest is omitted. */
export const maxInputIssues = 20;
/** Steps for validating a run's input against its schema. */
export const maxInputChecks = 1_000_000;
/** Schemas that a plan's parameters are compared with, for a tool without a validator. */
export const maxSchemaChecks = 100_000;
/** Duration of one attempt of a run. Time spent waiting for a person does not count. */
export const runMs = 3_600_000;
/** Length of a run id: an `r` and a unique part. It is the suffix of the names of a run's variables. */
export const runIdChars = 9;
/** Plans of one conversation. A new plan replaces the oldest finished one. */
export const maxPlans = 200;
/** Runs of one plan. A new run replaces the oldest finished one. */
export const maxPlanRuns = 50;
/** Runs of a conversation that execute or wait for a person. A decision searches all of them. */
export const maxOpenRuns = 100;
/** Calls of one run that execute in parallel. */
export const maxParallelCalls = 4;
/** Size of a capability workflow as XML. The limits of attributes and bodies apply to decoded text. */
export const maxWorkflowChars = 1_048_576;
export const maxTagAttributes = 64;
export const maxAttributeChars = 65_536;
export const maxTagBodyChars = 524_288;
/** Findings in one workflow. With more, the text is no workflow, and the rest is not read. */
export const maxWorkflowFindings = 50;
/** Model text that is held back as one capability tag. A longer tag is plain text. */
export const maxTagChars = 65_536;
/** Directives in all steps of a template. */
export const maxTemplateDirectives = 1_000;
export const maxDirectiveChars = 4_096;
/** Tools that one step names. */
export const maxTemplateTools = 200;
/** Files that all patterns of one step match together. */
export const maxTemplateFiles = 1_000;
/** Length of a finding's message and of its location. */
export const maxFindingChars = 1_000;
export const maxFindingPlaceChars = 300;
/** Length of the reason why a call failed or was skipped. */
export const maxCallReasonChars = 1_000;
/** Length of a run's state in its stream. Of a longer one only a handle is streamed. */
export const maxStreamedStateChars = 65_536;
/** All values of a plan's view together. Values that do not fit stay as written or are omitted. */
export const maxPlanViewChars = 4_194_304;
/** Length of one plan in the list of plans. A longer plan is listed without its calls. */
export const maxListedPlanChars = 65_536;
/** Known part of a proposed call's input: one value, and all values of a plan. */
export const maxKnownInputChars = 500;
export const maxKnownInputsChars = 100_000;

// --- export and import ---
/** Bytes of a value in one line of an export. */
export const transferDataBytes = 196_608;
/** Size of one line of an import. A message with everything that it shows is one line. */
export const maxTransferLineBytes = 33_554_432;
/** Parts of one import, each at most `maxValueBytes`, and all parts together. */
export const maxTransferParts = 100;
export const maxTransferBytes = 2_147_483_648;
/** Time without new data after which an import is abandoned. */
export const transferIdleMs = 3_600_000;
/** Files that are exported or imported with a conversation. */
export const maxTransferFiles = 5_000;

// --- the runtime's own tools ---
/** Length of a target path. The path occurs several times in an output that has its own limit. */
export const maxTargetPathChars = 1_200;
/** Length of a search query. Characters that one search reads. */
export const maxQueryChars = 200;
export const maxSearchWork = 67_108_864;
/** A query: length of its SQL, records, rows that it may visit (20 million take a second), steps of a recursion. */
export const maxStatementChars = 10_240;
export const maxQueryRecords = 100_000;
export const maxQueryVisits = 50_000_000;
/** CPU time of one query in a process of its own. On Cloudflare the CPU limit of the object applies. */
export const queryCpuMs = 10_000;
export const maxRecursionSteps = 100_000;
/** Tables in a statement, and parentheses in each other. */
export const maxStatementTables = 64;
/** A table: keys of records that are columns, a row as JSON, rows that are stored in one row of SQLite. */
export const maxQueryColumns = 500;
export const maxQueryRowBytes = 1_899_000;
export const maxQueryChunkBytes = 1_900_000;
/** Rows up to which a table that is queried again is stored row by row; idle time until tables are dropped. */
export const maxIndexedRows = 20_000;
export const queryIdleMs = 3_600_000;
/** Length of a file path in a conversation. */
export const maxFilePathChars = 200;
/** `run_code`: length of the code, variables that it reads, variables that it writes, console text that is shown. */
export const maxCodeChars = 65_536;
export const maxCodeVariables = 50;
export const maxCodeOutputs = 20;
export const maxShownConsoleChars = 2_000;
/** Tool calls of one code run. */
export const maxCodeCalls = 50;
/** Size up to which a variable is passed to code whole. Code reads a larger one in parts. */
export const maxWholeCodeBytes = 4_194_304;
/** Everything that is passed to code at once. The platform accepts 32 MiB per call; a character takes two bytes. */
export const maxCodeCrossingChars = 12_582_912;
/** Enforced in production; local workerd ignores it. */
export const codeCpuMs = 10_000;
/** Files that one listing returns: five pages of R2. A request for another file is rejected. */
export const maxListedFiles = 5_000;
/** All files of a conversation. An export of them, in Base64, still fits into `maxTransferBytes`. */
export const maxFilesBytes = 1_073_741_824;

// --- MCP ---
/** Time to begin a session; to connect and list the tools. */
export const mcpConnectMs = 10_000;
export const mcpListMs = 3_000;
/** Time after which a list of tools is requested again; without requests to a server that did not respond. */
export const mcpFreshMs = 300_000;
export const mcpDownMs = 30_000;
/** Tools of one server. */
export const maxMcpTools = 256;
/** Length of a tool's description. */
export const maxMcpDescriptionChars = 4_000;
/** Size of a tool's schema as JSON. A tool with a longer or deeper schema, or without one, is omitted. */
export const maxMcpSchemaChars = 65_536;
export const maxMcpSchemaDepth = 100;
/** Size of one server response as sent. Redirects that a request to a server follows. */
export const maxMcpAnswerBytes = 33_554_432;
export const maxMcpRedirects = 3;

// --- HTTP ---
export const maxChatBodyBytes = 33_554_432;
export const maxMessageBytes = 8_388_608;
/** Texts and files in a user message. Each file becomes a variable. */
export const maxMessageParts = 100;
export const maxPageSize = 200;
/** Variables in one page of their list: metadata only, about 1 KB each. */
export const maxVariablePageSize = 1_000;
/** Size up to which a value is sent without streaming. */
export const maxWholeBodyBytes = 1_048_576;
/** A request body is rejected if fewer than `minBodyBytes` arrive in this time, unless it ends. */
export const bodySilenceMs = 30_000;
export const minBodyBytes = 1_024;
/** Interval of comments that keep proxies from closing a stream. All messages of a page, which is one response. */
export const keepAliveMs = 15_000;
export const maxPageChars = 8_388_608;
/** Ten years. A variable that should stay longer has no time to live. */
export const maxTtlSeconds = 10 * 365 * 86_400;
/** Length of a media type. A longer one is rejected; real ones are far shorter. */
export const maxMediaTypeChars = 255;
/** Decisions in one request: far more than the calls that a model makes at once. Length of a person's reason. */
export const maxApprovals = 100;
export const maxReasonChars = 1_000;
/** Sockets of one conversation. Unread output is held for each of them. */
export const maxSockets = 16;
/** Characters sent over one socket, which the platform buffers. An idle one is closed at half of it. */
export const maxSocketChars = 33_554_432;
/** Invalid frames after which a socket is closed. */
export const maxBadFrames = 8;

// --- authentication ---
/** Length of a tenant's name; validity and length of a ticket; length of a JSON Web Token. */
export const maxTenantChars = 256;
export const ticketMs = 60_000;
export const maxTicketChars = 4_096;
export const maxTokenChars = 8_192;

/** A principal and its claims of a socket, as JSON. Source: an attachment has at most 16,384 bytes. */
export const maxSocketIdentityChars = 8_192;

/** A principal and its claims, as percent-encoded JSON. A token of the greatest length fits. */
export const maxIdentityChars = 24_576;
/** Tolerated difference between the issuer's clock and ours. */
export const tokenLeewaySeconds = 30;

// --- operations ---
/** Time that a collector may take for the spans of a turn. */
export const exportMs = 10_000;
/** Spans of one turn. A turn can have many calls, and collectors limit requests to a few megabytes. */
export const maxSpans = 1_000;
