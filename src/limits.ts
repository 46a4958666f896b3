/**
 * The limits, by kind. `docs/limits.md` is made of this file: a name contains the unit, and the comment of a limit is
 * its row. `Chars` are UTF-16 code units, `Bytes` are in UTF-8.
 */

// --- Items ---
/**
 * A long list: references of an input, those of an answer that are reported as unresolved, keys that a failed lookup
 * compares, variables of a page, tombstones, spans of a receipt or trace, directives and files of a template.
 */
export const maxItems = 1_000;
/**
 * What one request, response or call brings: tool calls of a step, edits, files of a message, approvals, parts of
 * an import; calls of a code run and the variables it reads; open runs; failed lookups that suggest names.
 */
export const maxBatchItems = 100;
/** Items that are shown: rows of a table in an answer, hits of a search, findings of a plan, problems of an input, variables that a value was made of. */
export const maxShownItems = 50;
/** Variables in a prompt's list; variables that one code run writes. */
export const maxListedVariables = 20;
/** Columns of a table in an answer. */
export const maxTableColumns = 12;
/** Lines of a diff. */
export const maxDiffLines = 60;
/**
 * Entries of a list that is read in order: events of a conversation, changes in a turn's stream, titles that one
 * search reads, columns of a CSV, names whose numbers were used.
 */
export const maxEntries = 10_000;
/** Files of a conversation: what a list, an export or an import has, five pages of R2. */
export const maxFiles = 5_000;
/** Items of one page of a list over HTTP, except variables. */
export const maxPageSize = 200;
/**
 * Plans of a conversation, programs of a tenant, calls of a plan, tools that one step of a template names. A new plan
 * replaces the oldest finished one.
 */
export const maxPlanItems = 200;
/** Runs of one plan; runs, versions and triggers of one program; late runs of a schedule. The oldest ended run goes. */
export const maxPlanRuns = 50;
/** Calls of one run that execute in parallel. */
export const maxParallelCalls = 4;
/** Earlier versions of a variable, by default. */
export const keptVersions = 2;
/** Nesting of arrays and objects in inputs, values and schemas of tools. */
export const maxDepth = 200;
/** Arrays and objects in one value, which take 80 bytes each. */
export const maxContainers = 1_000_000;
/** Cells of a CSV that is written, beside 50 for each field. */
export const maxCsvCells = 5_000_000;
/** Steps for comparing an input, or the parameters of a plan, with a schema. */
export const maxSchemaChecks = 1_000_000;
/** Images of one turn in a prompt, newest first. Each takes up to 1.4 MB, and every step sends them again. */
export const maxShownImages = 4;
/** Model calls in one turn. */
export const maxSteps = 20;
/** Messages that wait while a turn runs. */
export const maxQueuedTurns = 8;
/**
 * Attempts at the same thing: to write a turn's end, to follow redirects of an MCP server, to read a socket's
 * frames.
 */
export const maxTries = 10;
/** Consecutive attempts in which the process died without progress. The turn itself may be the cause. */
export const maxTurnDeaths = 3;
/** Depth of agents that call one another, below the first one. */
export const maxDelegateDepth = 3;
/** Tools of one MCP server. More are left out, and the log says so. */
export const maxMcpTools = 2_000;
/** Tools whose definitions a model is sent; of more, it finds them on demand. Agents may change it. */
export const maxShownTools = 30;
/** Sockets of one conversation. Unread output is held for each of them. */
export const maxSockets = 16;
/** Lease of a turn on its tenant's quota, beside what it needs at once. Most steps then need no request for one. */
export const lease = { modelCalls: 4, toolCalls: 16, tokens: 10_000 } as const;

// --- Queries ---
/** Length of a statement. */
export const maxStatementChars = 10_240;
/** Records of a result; steps of a recursion. */
export const maxQueryRecords = 100_000;
/** The product of a query's nested scans; 20 million rows take a second. */
export const maxQueryVisits = 50_000_000;
/** Tables in a statement, and parentheses in each other. */
export const maxStatementTables = 64;
/** Keys of records that are columns of a table. */
export const maxQueryColumns = 500;
/** A record of a table, as JSON. */
export const maxQueryRowBytes = 1_899_000;
/** Records of a table that are stored in one row of SQLite. */
export const maxQueryChunkBytes = 1_900_000;
/** Rows up to which a table that is queried again is stored row by row. */
export const maxIndexedRows = 20_000;

// --- Text ---
/** Length of a variable name in the grammar. */
export const maxNameChars = 64;
/** A line: a title, a search query, a file's path, a preview. */
export const maxLineChars = 200;
/** A name that is no variable's: a tenant, a media type. */
export const maxIdChars = 256;
/** A shape, a parameter's schema in a prompt, the place of a finding. */
export const maxShapeChars = 300;
/** A shape in a prompt's list of variables. */
export const maxListedShapeChars = 100;
/** A description, a provider's error message, an input in a plan that is proposed. */
export const maxDescriptionChars = 500;
/**
 * Characters after which undecided text counts as plain text (specification, `reference language`, rule 5); a path
 * that a tool writes to.
 */
export const maxHeldChars = 512;
/** A variable's handle in a tool result. */
export const maxHandleChars = 800;
/** A reason in words: of an error, a finding, a skipped call, a person's decision. */
export const maxReasonChars = 1_000;
/** Size, as JSON, up to which a tool result is shown in full. */
export const maxShownResultChars = 1_000;
/** An excerpt: JSON in a line of an answer, an input that is shown for approval, console text that is shown. */
export const maxExcerptChars = 2_000;
/** A paragraph: a tool's description, a directive of a template, a ticket. */
export const maxParagraphChars = 4_096;
/** JSON that a tool that shows variables may add to the prompt at once. */
export const maxVariableOutputChars = 8_000;
/** A JSON Web Token; a principal and its claims of a socket. Source: an attachment has at most 16,384 bytes. */
export const maxTokenChars = 8_192;
/** A principal and its claims, as percent-encoded JSON. A token of the greatest length fits. */
export const maxIdentityChars = 24_576;
/** A block of text in an answer. JSON that a tool's schema gains so that its parameters accept references. */
export const maxBlockChars = 20_000;
/** A person's text. What was pasted into a longer one is saved as a variable. An application may change it. */
export const messageChars = 4_000;
/** Earlier messages in a prompt. Above it, the oldest turns are in outline only. Agents may change it. */
export const historyChars = 24_000;
/** The last two turns of a prompt, which are not in outline although they exceed `historyChars`. */
export const maxHistoryChars = 120_000;
/** The context window of a model, in tokens, unless its agent says otherwise. */
export const contextTokens = 200_000;
/**
 * A piece of text: code of a run, a capability tag or its attribute, a tool's schema, a plan in a list, a run's
 * state in its stream, a slice of a long string.
 */
export const maxPieceChars = 65_536;
/** Characters of a CSV's names in all records together, beside 100 for each of its own. */
export const maxCsvNameChars = 131_072;
/** Text that a turn's log collects before it is written. */
export const turnLogChars = 16_384;
/** Size of one row of a turn's log. Above it, the next row begins. */
export const turnLogRowChars = 262_144;
/** Text that one embedded reference may insert into a string of a tool input. */
export const maxEmbeddedChars = 1_048_576;
/** Messages or plans of one response. Plan values that do not fit stay as written or are omitted. */
export const maxPageChars = 8_388_608;
/** Everything that is passed to code at once. The platform accepts 32 MiB per call; a character takes two bytes. */
export const maxCodeCrossingChars = 12_582_912;
/**
 * Text that the references of one input, of one response or of one template, or the edits of one call, insert,
 * counted at each occurrence; text that receipts digest.
 */
export const maxInsertedChars = 16_777_216;
/** Text that all tool calls of one model response may insert. */
export const maxStepInputChars = 67_108_864;
/**
 * Work of reading, in characters and visited parts: references of a response or of the calls of a step, a search,
 * the edits of a call beside five times the text.
 */
export const maxReadWork = 134_217_728;
/** Work of all reads of one code or plan run. Each of its calls also has its own `maxReadWork`. */
export const maxRunReadWork = 1_073_741_824;

// --- Bytes ---
/** A call's input in a list of variables, which omits a longer one. */
export const maxListedInputBytes = 4_096;
/** Size up to which a value is stored in its row. Larger values are stored in chunk rows. */
export const maxRowBytes = 65_536;
/** Distance between marks, which record where elements or characters of a large array or text begin. */
export const markBytes = 262_144;
/**
 * One record that is held or sent in one piece: a chunk row, a call's stored input, a plan, a workflow or a tag's
 * body, a body of a webhook, an image that a model sees, unread events of a reader.
 */
export const maxRecordBytes = 1_048_576;
/**
 * Size of a SQL value that the platform rejects in production but local workerd accepts. `DurableSql` enforces it.
 */
export const maxSqlValueBytes = 2_000_000;
/** Size up to which a variable is passed to code whole. Code reads a larger one in parts. */
export const maxWholeCodeBytes = 4_194_304;
/**
 * Size above which a value is stored in the bucket, if one is bound (bytes: above `maxRowBytes`), and of an
 * upload's part.
 */
export const maxChunkedBytes = 8_388_608;
/** A message; a JSON body, except values. */
export const maxMessageBytes = 8_388_608;
/** JSON that the object parses or serializes. Parsed JSON takes about twice the memory of its text. */
export const maxJsonBytes = 16_777_216;
/**
 * A body with a history, an answer of an MCP server, a line of an import; what one socket sends, which is closed
 * when idle at half of it.
 */
export const maxBodyBytes = 33_554_432;
/** Size of a text, of bytes or of an array of records. JSON that has to be parsed has its own limit. */
export const maxValueBytes = 99_614_720;
/** All values of a user: a turn reads all of them at once. */
export const maxUserBytes = 1_048_576;
/** All values of a conversation. Above it, the least recently used variables are evicted. */
export const maxConversationBytes = 268_435_456;
/** All files of a conversation. An export of them, in Base64, still fits into `maxTransferBytes`. */
export const maxFilesBytes = 1_073_741_824;
/** All parts of an import together. */
export const maxTransferBytes = 2_147_483_648;
/** A request body is rejected if fewer bytes arrive in `silenceMs`, unless it ends. */
export const minBodyBytes = 1_024;

// --- Time ---
/** Interval after which a turn's output is logged. Steps and results are logged at once. */
export const turnLogMs = 2_000;
/** Time for a short answer: the directory's, an MCP server's list of tools. Without it, a turn goes on. */
export const replyMs = 5_000;
/** Time to connect to an MCP server or to a collector of traces. */
export const connectMs = 10_000;
/** CPU time of one query in a process of its own. On Cloudflare the CPU limit of the object applies. */
export const queryCpuMs = 10_000;
/** CPU time of a code run. Enforced in production; local workerd ignores it. */
export const codeCpuMs = 10_000;
/** Interval of comments that keep proxies from closing a stream. */
export const keepAliveMs = 15_000;
/**
 * Time without a sign of life: of a request body, of a conversation that is deleted, of an MCP server before it is
 * asked again.
 */
export const silenceMs = 30_000;
/** Tolerated difference between the issuer's clock and ours. */
export const tokenLeewaySeconds = 30;
/**
 * Time without output from a model, before its first part and between two parts; to summarize a history; the
 * longest Retry-After.
 */
export const modelSilenceMs = 60_000;
/** Duration of a tool call, unless the tool says otherwise. */
export const toolMs = 60_000;
/** Validity of a ticket. */
export const ticketMs = 60_000;
/** Time after which an MCP server's list of tools is requested again. */
export const mcpFreshMs = 300_000;
/** Duration of a turn. */
export const turnMs = 900_000;
/** Duration of one attempt of a run. Time spent waiting for a person does not count. */
export const runMs = 3_600_000;
/** Time without use after which an import is abandoned, and tables of queries are dropped. */
export const idleMs = 3_600_000;
/** Validity of an Idempotency-Key. */
export const idempotencyMs = 86_400_000;
/** Idle time after which a variable is evicted, unless it is pinned. */
export const variableIdleMs = 86_400_000;
/** Idle time after which a conversation is deleted. */
export const conversationIdleMs = 2_592_000_000;
/** Idle time after which a value of a user is evicted. */
export const userIdleMs = 31_536_000_000;
/** Ten years. A variable that should stay longer has no time to live. */
export const maxTtlSeconds = 315_360_000;
