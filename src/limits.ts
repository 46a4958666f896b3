/**
 * The bounds that a user meets, with their units in their names.
 * Sizes of text are in UTF-16 code units (`Chars`) unless they say `Bytes` (UTF-8).
 */

// --- references ---
/** Law (`reference language`, rule 5): what is undecided for so long is plain text. */
export const maxHeldChars = 512;
/** A name's length, as the grammar has it. */
export const maxNameChars = 64;
/** Arrays and objects inside one another, in tool inputs and values; keeps recursion shallow. */
export const maxDepth = 200;
/** Arrays and objects in one value: an empty one takes some 80 bytes of memory. */
export const maxContainers = 1_000_000;
/** References in one tool input. More means that the input should be one reference. */
export const maxReferencesPerInput = 1_000;
/** Text that one embedded reference may put into a tool's string. */
export const maxEmbeddedChars = 1_048_576;
/** Text that the references of one tool input bring in, with or without a path, each time they occur. */
export const maxResolvedInputChars = 16_777_216;
/** The same for all tool calls of one answer of a model, in equal shares: they are prepared together. */
export const maxStepInputChars = 67_108_864;
/** Tool calls of one answer of a model. Further ones fail, and the model may make them in its next answer. */
export const maxStepCalls = 100;
/**
 * The work of reading references: characters read from storage, plus the elements, keys and characters
 * that paths visit and an answer renders. For one answer, one interpolation, or the tool calls of one step in
 * equal shares: about one value of the largest size.
 */
export const maxReadWork = 134_217_728;
/** The same for all reads of one run, of code or of a plan: its calls have `maxReadWork` each. */
export const maxRunReadWork = 1_073_741_824;
/** Keys of an object that a miss compares with the wanted one and lists. */
export const maxMissKeys = 1_000;
/** Misses of one tool input, answer or interpolation that are explained with near names. */
export const maxExplainedMisses = 200;
/** Text that one answer's references may add; afterwards references stay as written. */
export const maxExpansionChars = 16_777_216;

// --- rendering for people ---
export const maxTableRows = 50;
export const maxTableColumns = 12;
export const maxInlineJsonChars = 2_000;
export const maxBlockJsonChars = 20_000;
/** A long string leaves in slices of this size, so that a slow reader can hold it up. */
export const maxSliceChars = 65_536;

// --- what a model sees ---
/** A tool result up to this size (as JSON) is shown whole. */
export const maxShownResultChars = 1_000;
export const maxHandleChars = 800;
export const maxShapeChars = 300;
export const maxPreviewChars = 200;
export const maxListedVariables = 20;
export const maxTryPaths = 4;
/** An image that the model asks to read is shown to it as such up to this size. */
export const maxShownImageBytes = 1_048_576;
/** Images of one turn that a prompt has, newest first: each takes up to 1.4 MB, and every step sends them again. */
export const maxShownImages = 4;
/** A longer text of a person's message is kept as a variable. */
export const maxMessageTextChars = 20_000;
/** Messages of the past that a prompt carries, newest first. */
export const maxHistoryChars = 120_000;
/** A shape in the list of variables. */
export const maxListedShapeChars = 100;
/** Added to a tool's schema, as JSON, so that its parameters take references. */
export const maxWidenedChars = 16_384;
/** A parameter's schema in the guide to capability tags. */
export const maxSchemaTextChars = 300;
/** What a tool that shows variables puts into the prompt at once, as JSON. */
export const maxVariableOutputChars = 8_000;
/** Variables that one call of `list_variables` lists. */
export const maxAskedVariables = 100;
/** Of one search. */
export const maxSearchHits = 50;
/** Messages that a prompt is made of at most, however short they are. */
export const maxHistoryMessages = 1_000;
/** What a provider says of its failure. */
export const maxModelErrorChars = 500;

// --- variables ---
/** A value up to this size is kept in its row; above, in chunk rows. */
export const maxRowBytes = 65_536;
/** One chunk row, half of the platform's 2 MB for a row, string or BLOB. */
export const maxChunkBytes = 1_048_576;
/** Above, a value goes to the bucket, if one is bound; bytes do so above `maxRowBytes`. */
export const maxChunkedBytes = 8_388_608;
/** A text, bytes, or an array of records; JSON that has to be parsed has a bound of its own. */
export const maxValueBytes = 99_614_720;
/** All values of a conversation; the least recently used give way. */
export const maxConversationBytes = 268_435_456;
/** Of a large array or text it is known at every so many bytes which element begins there. */
export const markBytes = 262_144;
/** One part of an upload; R2 wants 5 MiB or more, all parts but the last of one size. */
export const uploadPartBytes = 8_388_608;
/** What the platform refuses in production and local workerd does not; `DurableSql` guards it. */
export const maxSqlValueBytes = 2_000_000;
/** JSON that has to be parsed or written in the object: parsed it costs about twice its text. */
export const maxJsonBytes = 16_777_216;
/** A call's input, as JSON, that is kept beside the variable that it made. */
export const maxInputBytes = 1_048_576;
/** The same where variables are listed: a longer one is left out. */
export const maxListedInputBytes = 4_096;
export const maxTombstones = 1_000;
/** A variable that nobody read or wrote for so long is evicted, unless it is pinned. */
export const variableIdleMs = 86_400_000;
/** A conversation in which nothing happened for so long is deleted. */
export const conversationIdleMs = 2_592_000_000;
export const maxDescriptionChars = 500;
export const maxTitleChars = 200;
/** Access times wait so long to be written together. */
export const accessFlushMs = 5_000;

// --- events ---
/** The newest so many are kept, in whole rows. */
export const maxEvents = 10_000;
/** What waits for a reader of live events; a slower one is cut off. */
export const maxEventBacklogBytes = 1_048_576;

// --- turns ---
/** Model calls in one turn. */
export const maxSteps = 20;
export const maxQueuedTurns = 8;
export const turnMs = 900_000;
/** A client's Idempotency-Key holds for so long. */
export const idempotencyMs = 86_400_000;
/** Changes of variables that a turn's stream tells of; the list of variables is the truth. */
export const maxTurnChanges = 5_000;
/** Further attempts at a turn whose end cannot be written, for lack of room for example. */
export const maxTurnTries = 10;
/** Attempts in a row in which the process died before the turn got any further: the turn may be why. */
export const maxTurnDeaths = 3;
/** Agents that ask one another, each for the one before: so many behind the one that was asked first. */
export const maxDelegateDepth = 3;
/** What a turn has said is written down after so long, or so much of it; its steps and results at once. */
export const turnLogMs = 2_000;
export const turnLogChars = 16_384;
/** One row of a turn's log; the next begins above. */
export const turnLogRowChars = 262_144;
/** Silence of a model: before its first part, and between two parts. */
export const modelSilenceMs = 60_000;
export const toolMs = 60_000;
/** What a tool fetches with `publicFetch`: its body, and the time until its end. */
export const maxFetchedBytes = 16_777_216;
export const fetchMs = 30_000;

/**
 * What a turn has on lease of what its tenant may spend, beside what it needs at once: about what it
 * spends in some steps, so that most of them ask nobody. Tokens: about what one call takes.
 */
export const lease = { modelCalls: 4, toolCalls: 16, tokens: 10_000 } as const;
/** A directory that is silent for so long is asked again, or done without. */
export const directoryMs = 5_000;
/** Of calls no more than one in so many that are left: at the end turns lease one by one. */
export const leaseShare = 64;
/** A provider may ask for a longer wait than ours, up to this one. */
export const maxRetryAfterMs = 60_000;
/** Of an input that a person is shown. */
export const maxApprovalChars = 2_000;
/** Decisions about calls that `byref/agent` keeps for one store until the calls run. */
export const maxPendingDecisions = 1_000;

// --- plans ---
export const maxPlanCalls = 200;
export const maxPlanBytes = 1_048_576;
/** Of what keeps a plan from running; one more says how many there are beside them. */
export const maxPlanFindings = 50;
/** That one call writes. */
export const maxOutputPlaces = 100;
/** Of what is wrong with a run's input or a body; the rest of it is not told. */
export const maxInputIssues = 20;
/** Steps that checking a run's input against its schema may take. */
export const maxInputChecks = 1_000_000;
/** One sitting of a run; what waits for a person does not count. */
export const runMs = 3_600_000;
/** An r, and what tells runs apart: it stands behind the names of a run's own variables. */
export const runIdChars = 9;
/** In one conversation; the oldest that is over gives way to a new one. */
export const maxPlans = 200;
/** Of one plan; the same. */
export const maxPlanRuns = 50;
/** Of all plans of a conversation, those that go on or wait for a person: a decision looks through them. */
export const maxOpenRuns = 100;
/** Calls of one run that go on at the same time. */
export const maxParallelCalls = 4;
/** A capability workflow as XML; its tags' attributes and bodies as what they stand for. */
export const maxWorkflowChars = 1_048_576;
export const maxTagAttributes = 64;
export const maxAttributeChars = 65_536;
export const maxTagBodyChars = 524_288;
/** A text with more faults than these is no workflow; the rest of it is not read. */
export const maxWorkflowFindings = 50;
/** Of a model's text so much is held back as one capability tag; what is longer is text. */
export const maxTagChars = 65_536;
/** Of all of a template's steps. */
export const maxTemplateDirectives = 1_000;
export const maxDirectiveChars = 4_096;
/** That one step names. */
export const maxTemplateTools = 200;
/** That all patterns of one step fit together. */
export const maxTemplateFiles = 1_000;
/** One finding: its message, and its place. */
export const maxFindingChars = 1_000;
export const maxFindingPlaceChars = 300;
/** Why a call failed, or was skipped. */
export const maxCallReasonChars = 1_000;
/** All values of a plan's view together; what does not fit stays as it is written, or is left out. */
export const maxPlanViewChars = 4_194_304;
/** Length of one plan in the list of plans; a longer one is listed without its calls. */
export const maxListedPlanChars = 65_536;
/** Of a proposed call's input, as far as it is known: one value, and all of a plan's. */
export const maxKnownInputChars = 500;
export const maxKnownInputsChars = 100_000;

// --- moving conversations ---
/** Bytes of a value in one line of an export. */
export const transferDataBytes = 196_608;
/** One line of an import: a message with all that it shows is one. */
export const maxTransferLineBytes = 33_554_432;
/** Parts of one import, each of `maxValueBytes` at most, and all of them together. */
export const maxTransferParts = 100;
export const maxTransferBytes = 2_147_483_648;
/** An import to which nothing more comes is given up. */
export const transferIdleMs = 3_600_000;
/** Files of a conversation that are moved. */
export const maxTransferFiles = 5_000;

// --- the runtime's own tools ---
/** A place has to be named several times in an output that is bounded itself. */
export const maxTargetPathChars = 1_200;
/** What is searched for. */
export const maxQueryChars = 200;
/** A pattern, compiled, before and after its counts are written out. */
export const maxPatternSteps = 400;
export const maxPatternParts = 4_000;
/** A count in a pattern, `{1,50}`. */
export const maxPatternCount = 50;
/** Characters that one search looks at, times what its pattern costs for each. */
export const maxSearchWork = 67_108_864;
/** What one call may look at: reading it takes time in which the conversation does nothing else. */
export const maxFilteredChars = 33_554_432;
/** Fields that one filter compares. */
export const maxFilterConditions = 50;
/** A text that a filter looks for in longer ones, with `contains`. */
export const maxPieceChars = 65_536;
/** The path of a file of the conversation. */
export const maxFilePathChars = 200;
/** That `publicFetch` follows. */
export const maxFetchRedirects = 5;
/** `run_code`: the code, the variables that it names, those that it writes, what is shown of its console. */
export const maxCodeChars = 65_536;
export const maxCodeVariables = 50;
export const maxCodeOutputs = 20;
export const maxShownConsoleChars = 2_000;
/** Tool calls of one run. */
export const maxCodeCalls = 50;
/** A variable up to this size is handed over whole; of a larger one the code reads parts. */
export const maxWholeCodeBytes = 4_194_304;
/** All that is handed over at once; the platform takes 32 MiB in one call, a character being two bytes. */
export const maxCodeCrossingChars = 12_582_912;
/** Enforced in production; local workerd ignores it. */
export const codeCpuMs = 10_000;
/** Files that one listing finds: five pages of R2's. */
export const maxListedFiles = 5_000;

// --- MCP ---
/** To begin a session. */
export const mcpConnectMs = 10_000;
/** To connect and to list the tools. */
export const mcpListMs = 3_000;
/** A list of tools is asked for again after so long. */
export const mcpFreshMs = 300_000;
/** A server that could not be asked is left alone for so long. */
export const mcpDownMs = 30_000;
/** Tools of one server. */
export const maxMcpTools = 256;
/** Of one tool. */
export const maxMcpDescriptionChars = 4_000;
/** As JSON; a tool whose schema is longer, or deeper, or none at all, is left out. */
export const maxMcpSchemaChars = 65_536;
export const maxMcpSchemaDepth = 100;
/** One answer of a server, as it is sent. */
export const maxMcpAnswerBytes = 33_554_432;
/** That a request to a server follows. */
export const maxMcpRedirects = 3;

// --- HTTP ---
export const maxChatBodyBytes = 33_554_432;
export const maxMessageBytes = 8_388_608;
/** Texts and files of a person's message: each file becomes a variable. */
export const maxMessageParts = 100;
export const maxPageSize = 200;
/** Variables in one page of their list: metadata alone, some 1 KB each. */
export const maxVariablePageSize = 1_000;
/** A value that is sent as it is, without being streamed. */
export const maxWholeBodyBytes = 1_048_576;
/** A body of which no more than so little comes in so long is given up, unless that is all of it. */
export const bodySilenceMs = 30_000;
export const minBodyBytes = 1_024;
/** A comment on the stream keeps proxies from closing it. */
export const keepAliveMs = 15_000;
/** Characters of a page's messages together, so that it fits into one answer of the object. */
export const maxPageChars = 8_388_608;
/** Ten years: what is to stay longer has no time to live. */
export const maxTtlSeconds = 10 * 365 * 86_400;
/** A body with a longer media type is refused; real ones are far shorter. */
export const maxMediaTypeChars = 255;
/** Decisions in one post: far more than calls that a model makes at once. */
export const maxApprovals = 100;
/** Why a person has decided so. */
export const maxReasonChars = 1_000;
/** Sockets of one conversation: what a client does not read is kept for each of them. */
export const maxSockets = 16;
/**
 * What one socket carries in its life. Nothing tells whether a client reads: the platform keeps what was sent
 * until it does, and does not say how much that is. A socket that is idle is closed at half of this already,
 * which the stock client does not notice. One answer is less, unless it is megabytes by reference.
 */
export const maxSocketChars = 33_554_432;
/** Errors of a client that cannot be helped. */
export const maxBadFrames = 8;

// --- authentication ---
/** A tenant's name. */
export const maxTenantChars = 256;
/** A ticket holds for so long. */
export const ticketMs = 60_000;
export const maxTicketChars = 4_096;
/** A JSON Web Token. */
export const maxTokenChars = 8_192;
/** How far the issuer's clock and ours may be apart. */
export const tokenLeewaySeconds = 30;
/** A set of keys: its text, and how many it may have. */
export const maxJwksBytes = 262_144;
export const maxJwksKeys = 100;

// --- operations ---
/** So long a collector may take for the spans of a turn. */
export const exportMs = 10_000;
/** Calls, and what code calls, are many at times; and collectors bound a request: megabytes at most. */
export const maxSpans = 1_000;
