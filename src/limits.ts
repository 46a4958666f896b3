/**
 * The bounds that a user meets, with their units in their names.
 * Sizes of text are in UTF-16 code units (`Chars`) unless they say `Bytes` (UTF-8).
 */
export const limits = {
  // --- references ---
  /** Law (`reference language`, rule 5): what is undecided for so long is plain text. */
  maxHeldChars: 512,
  /** A name's length, as the grammar has it. */
  maxNameChars: 64,
  /** Arrays and objects inside one another, in tool inputs and values; keeps recursion shallow. */
  maxDepth: 200,
  /** Arrays and objects in one value: an empty one takes some 80 bytes of memory. */
  maxContainers: 1_000_000,
  /** References in one tool input. More means that the input should be one reference. */
  maxReferencesPerInput: 1_000,
  /** Text that one embedded reference may put into a tool's string. */
  maxEmbeddedChars: 1_048_576,
  /** All that a tool input's references bring in, as text; of whole references what is known of it. */
  maxResolvedInputChars: 16_777_216,
  /** Text that one answer's references may add; afterwards references stay as written. */
  maxExpansionChars: 16_777_216,

  // --- rendering for people ---
  maxTableRows: 50,
  maxTableColumns: 12,
  maxInlineJsonChars: 2_000,
  maxBlockJsonChars: 20_000,
  /** A long string leaves in slices of this size, so that a slow reader can hold it up. */
  maxSliceChars: 65_536,

  // --- what a model sees ---
  /** A tool result up to this size (as JSON) is shown whole. */
  maxShownResultChars: 1_000,
  maxHandleChars: 800,
  maxShapeChars: 300,
  maxPreviewChars: 200,
  maxListedVariables: 20,
  maxTryPaths: 4,
  /** An image that the model asks to read is shown to it as such up to this size. */
  maxShownImageBytes: 1_048_576,
  /** Images that a model is shown in one turn. */
  maxShownImages: 4,
  /** A longer text of a person's message is kept as a variable. */
  maxMessageTextChars: 20_000,
  /** Messages of the past that a prompt carries, newest first. */
  maxHistoryChars: 120_000,

  // --- variables ---
  /** A value up to this size is kept in its row; above, in chunk rows. */
  maxRowBytes: 65_536,
  /** One chunk row, half of the platform's 2 MB for a row, string or BLOB. */
  maxChunkBytes: 1_048_576,
  /** Above, a value goes to the bucket, if one is bound; bytes do so above `maxRowBytes`. */
  maxChunkedBytes: 8_388_608,
  /** A text, bytes, or an array of records; JSON that has to be parsed has a bound of its own. */
  maxValueBytes: 99_614_720,
  /** All values of a conversation; the least recently used give way. */
  maxConversationBytes: 268_435_456,
  /** Of a large array or text it is known at every so many bytes which element begins there. */
  markBytes: 262_144,
  /** One part of an upload; R2 wants 5 MiB or more, all parts but the last of one size. */
  uploadPartBytes: 8_388_608,
  /** What the platform refuses in production and local workerd does not; `DurableSql` guards it. */
  maxSqlValueBytes: 2_000_000,
  /** JSON that has to be parsed or written in the object: parsed it costs about twice its text. */
  maxJsonBytes: 16_777_216,
  /** A call's input, as JSON, that is kept beside the variable that it made. */
  maxInputBytes: 1_048_576,
  /** The same where variables are listed: a longer one is left out. */
  maxListedInputBytes: 4_096,
  maxTombstones: 1_000,
  /** A variable that nobody read or wrote for so long is evicted, unless it is pinned. */
  variableIdleMs: 86_400_000,
  /** A conversation in which nothing happened for so long is deleted. */
  conversationIdleMs: 2_592_000_000,
  maxDescriptionChars: 500,
  maxTitleChars: 200,
  /** Access times wait so long to be written together. */
  accessFlushMs: 5_000,

  // --- events ---
  /** The newest so many are kept, in whole rows. */
  maxEvents: 10_000,
  /** What waits for a reader of live events; a slower one is cut off. */
  maxEventBacklogBytes: 1_048_576,

  // --- turns ---
  /** Model calls in one turn. */
  maxSteps: 20,
  maxQueuedTurns: 8,
  turnMs: 900_000,
  /** A client's Idempotency-Key holds for so long. */
  idempotencyMs: 86_400_000,
  /** Changes of variables that a turn's stream tells of; the list of variables is the truth. */
  maxTurnChanges: 5_000,
  /** Attempts at a turn that crashes cut off, without getting any further, before it is given up. */
  maxTurnTries: 10,
  /** Agents that ask one another, each for the one before: so many behind the one that was asked first. */
  maxDelegateDepth: 3,
  /** What a turn has said is written down after so long, or so much of it; its steps and results at once. */
  turnLogMs: 2_000,
  turnLogChars: 16_384,
  /** One row of a turn's log; the next begins above. */
  turnLogRowChars: 262_144,
  /** Silence of a model: before its first part, and between two parts. */
  modelSilenceMs: 60_000,
  toolMs: 60_000,
  /** What a tool fetches with `publicFetch`: its body, and the time until its end. */
  maxFetchedBytes: 16_777_216,
  fetchMs: 30_000,

  /**
   * What a turn has on lease of what its tenant may spend, beside what it needs at once: about what it
   * spends in some steps, so that most of them ask nobody. Tokens: about what one call takes.
   */
  lease: { modelCalls: 4, toolCalls: 16, tokens: 10_000 },
  /** A directory that is silent for so long is asked again, or done without. */
  directoryMs: 5_000,
  /** Of calls no more than one in so many that are left: at the end turns lease one by one. */
  leaseShare: 64,

  // --- plans ---
  maxPlanCalls: 200,
  maxPlanBytes: 1_048_576,
  /** Of what keeps a plan from running; one more says how many there are beside them. */
  maxPlanFindings: 50,
  /** That one call writes. */
  maxOutputPlaces: 100,
  /** Of what is wrong with a run's input; the rest of it is not looked at. */
  maxInputIssues: 20,
  /** Steps that checking a run's input against its schema may take. */
  maxInputChecks: 1_000_000,
  /** One sitting of a run; what waits for a person does not count. */
  runMs: 3_600_000,
  /** It stands behind the names of a run's own variables. */
  runIdChars: 9,
  /** In one conversation; the oldest that is over gives way to a new one. */
  maxPlans: 200,
  /** Of one plan; the same. */
  maxPlanRuns: 50,
  /** Calls of one run that go on at the same time. */
  maxParallelCalls: 4,
  /** A capability workflow as XML; its tags' attributes and bodies as what they stand for. */
  maxWorkflowChars: 1_048_576,
  maxTagAttributes: 64,
  maxAttributeChars: 65_536,
  maxTagBodyChars: 524_288,
  /** A text with more faults than these is no workflow; the rest of it is not read. */
  maxWorkflowFindings: 50,
  /** Of a model's text so much is held back as one capability tag; what is longer is text. */
  maxTagChars: 65_536,
  /** Of all of a template's steps. */
  maxTemplateDirectives: 1_000,
  maxDirectiveChars: 4_096,
  /** That one step names. */
  maxTemplateTools: 200,
  /** That one pattern of a template fits. */
  maxTemplateFiles: 1_000,

  // --- moving conversations ---
  /** Bytes of a value in one line of an export. */
  transferDataBytes: 196_608,
  /** One line of an import: a message with all that it shows is one. */
  maxTransferLineBytes: 33_554_432,
  /** Parts of one import, each of `maxValueBytes` at most, and all of them together. */
  maxTransferParts: 100,
  maxTransferBytes: 2_147_483_648,
  /** An import to which nothing more comes is given up. */
  transferIdleMs: 3_600_000,
  /** Files of a conversation that are moved. */
  maxTransferFiles: 5_000,

  // --- HTTP ---
  maxChatBodyBytes: 33_554_432,
  maxMessageBytes: 8_388_608,
  maxPageSize: 200,
  /** Variables in one page of their list: metadata alone, some 1 KB each. */
  maxVariablePageSize: 1_000,
  /** A value that is sent as it is, without being streamed. */
  maxWholeBodyBytes: 1_048_576,
  /** A body of which no more than so little comes in so long is given up, unless that is all of it. */
  bodySilenceMs: 30_000,
  minBodyBytes: 1_024,
  /** A comment on the stream keeps proxies from closing it. */
  keepAliveMs: 15_000,

  // --- operations ---
  /** So long a collector may take for the spans of a turn. */
  exportMs: 10_000,
} as const;
