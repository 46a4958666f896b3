/**
 * The parts of Mastra that are used here, typed by structure: the types of `byref/mastra` need no
 * `@mastra/core`. `examples/mastra` checks that Mastra's own types fit.
 */

import type { JSONSchema7 } from "ai";

export interface MastraAgent {
  readonly id: string;
  readonly name: string;
  generate(...parameters: never[]): unknown;
  stream(...parameters: never[]): unknown;
}

interface MastraRequestContext {
  get(key: string): unknown;
  entries(): Iterable<readonly [string, unknown]>;
}

/** The options of a call that are read or changed here. */
export interface CallOptions {
  readonly runId?: string;
  readonly requestContext?: MastraRequestContext;
  readonly inputProcessors?: readonly object[];
  readonly requireToolApproval?: boolean | ApprovalFunction;
  readonly structuredOutput?: { readonly schema?: object; readonly model?: unknown } | undefined;
  readonly untilIdle?: unknown;
  /** Mastra forbids delegation where it calls an agent as a tool of another. */
  readonly backgroundTaskPolicy?: { readonly allowDelegationDispatch?: boolean } | undefined;
  readonly isTaskComplete?: { readonly scorers?: readonly Scorer[] } | undefined;
  readonly experimentalTransform?: ChunkTransform | readonly ChunkTransform[];
  readonly onChunk?: (chunk: Chunk) => unknown;
  readonly onStepFinish?: (event: AnswerEvent) => unknown;
  readonly onIterationComplete?: (event: AnswerEvent) => unknown;
  readonly onFinish?: (event: AnswerEvent) => unknown;
  readonly onError?: (event: AnswerEvent) => unknown;
  readonly onAbort?: (event: AnswerEvent) => unknown;
}

/** Makes a transform for the chunks of one reader. */
type ChunkTransform = () => TransformStream<Chunk, Chunk>;

/** What callbacks receive of an answer. Only `onFinish` has a reason for its end. */
export interface AnswerEvent {
  readonly finishReason?: string;
  readonly text?: string;
  readonly steps?: AnswerFields["steps"];
}

/** Mastra's `MastraScorer`. */
export interface Scorer {
  run(scored: Scored): unknown;
}

export interface Scored {
  readonly runId?: string;
  readonly input?: unknown;
  /** The messages of an answer, or its text. */
  readonly output?: unknown;
}

/** Mastra's `StandardSchemaWithJSON`. */
export interface StandardSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor?: string;
    readonly validate: (value: unknown) => unknown;
    readonly jsonSchema: {
      readonly input: (format: object) => JSONSchema7;
      readonly output: (format: object) => JSONSchema7;
    };
  };
}

/** The option `requireToolApproval`, as a function. */
type ApprovalFunction = (
  call: ApprovalContext & { readonly toolName: string; readonly args: unknown },
) => unknown;

export interface ApprovalContext {
  readonly requestContext?: Readonly<Record<string, unknown>>;
  readonly workspace?: unknown;
}

/** The members of an agent that are called or replaced; some are not in Mastra's types. */
export interface AgentMembers {
  __fork(): AgentMembers;
  getDefaultOptions(given: object): CallOptions | PromiseLike<CallOptions>;
  listConfiguredInputProcessors(
    requestContext?: MastraRequestContext,
  ): Promise<readonly object[]> | readonly object[];
  convertTools(given: ToolsFor): Promise<Record<string, CoreTool>>;
  listTools(
    given: object,
  ): Readonly<Record<string, object>> | PromiseLike<Readonly<Record<string, object>>>;
  listScorers(given?: object): Promise<Readonly<Record<string, { readonly scorer: Scorer }>>>;
  generate(messages: unknown, options?: CallOptions): Promise<FullOutput>;
  stream(messages: unknown, options?: CallOptions): Promise<ModelOutput>;
  resumeGenerate(resumeData: unknown, options?: CallOptions): Promise<FullOutput>;
  resumeStream(resumeData: unknown, options?: CallOptions): Promise<ModelOutput>;
}

/** The run that an agent collects its tools for. */
export interface ToolsFor {
  readonly runId?: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly requestContext: MastraRequestContext;
  readonly inputProcessors?: readonly object[];
}

/** A tool as Mastra's loop calls it, whatever it was made from. */
export interface CoreTool {
  readonly type?: string;
  readonly id?: string | undefined;
  readonly outputSchema?: unknown;
  readonly description?: string;
  readonly parameters: {
    readonly jsonSchema?: unknown;
    readonly validate?: (value: unknown) => unknown;
  };
  readonly requireApproval?: boolean;
  readonly needsApprovalFn?: (input: unknown, context?: ApprovalContext) => unknown;
  readonly execute?: (input: unknown, options: ToolOptions) => Promise<unknown>;
  readonly toModelOutput?: (output: unknown) => unknown;
  readonly onInputAvailable?: (given: Announced) => unknown;
  readonly onOutput?: (given: object) => unknown;
}

/** The argument that Mastra passes to `onInputAvailable`. */
export interface Announced {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly messages?: readonly unknown[];
}

/** The second argument of a tool's `execute`. */
export interface ToolOptions extends Partial<Omit<Announced, "input">> {
  readonly abortSignal?: AbortSignal;
  readonly requestContext?: MastraRequestContext;
  readonly workspace?: unknown;
  readonly suspend?: (...parameters: readonly unknown[]) => Promise<unknown>;
}

/** A part of `fullStream`. */
export interface Chunk {
  readonly type: string;
  readonly runId?: string;
  readonly from?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly object?: unknown;
}

interface AnswerFields {
  readonly text: string;
  readonly steps: readonly { readonly text?: string }[];
  readonly object: unknown;
  readonly toolCalls: readonly Chunk[];
  readonly suspendPayload: unknown;
  readonly response: unknown;
  readonly finishReason: string | undefined;
}

type Promised<Fields> = { readonly [Name in keyof Fields]: Promise<Fields[Name]> };

/** The return value of `stream`. */
export interface ModelOutput extends Promised<AnswerFields> {
  readonly fullStream: ReadableStream<Chunk>;
  readonly textStream: ReadableStream<string>;
  readonly objectStream: ReadableStream<unknown>;
  readonly elementStream: ReadableStream<unknown>;
  getFullOutput(): Promise<FullOutput>;
}

/** The return value of `generate`. */
export interface FullOutput extends AnswerFields {
  /** For evaluations, if they were asked for. */
  readonly scoringData?: Pick<Scored, "input" | "output">;
}
