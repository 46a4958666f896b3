import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import {
  type LanguageModel,
  readUIMessageStream,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { migrate } from "../../src/store/rows/migrations.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { History } from "../../src/turn/history/history.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import type { QuotaService, SpendLimits } from "../../src/turn/spend/spend.ts";
import { resumeTurn, runTurn, type TurnResult } from "../../src/turn/turn.ts";
import type { PlatformServices } from "../../src/turn/toolbox.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import type { TurnOptions } from "../../src/turn/turn-context.ts";
import { waitingCalls } from "../../src/turn/waiting-calls.ts";
import { NodeSql } from "./node-sql.ts";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";
import type { Naming } from "../../src/tool/wrapped-tool.ts";

export const START_MS = Date.UTC(2026, 0, 1);

/** Storage costs that every turn reports: none. */
const NO_COST = { rowsRead: 0, rowsWritten: 0, alarms: 0 };

export interface ConversationOptions {
  readonly agent?: Agent;
  readonly tools?: ToolSet;
  readonly instructions?: string;
  readonly naming?: Naming;
  readonly store?: VariableStore;
  readonly history?: History;
  readonly spendLimits?: SpendLimits;
  readonly leases?: QuotaService;
  readonly services?: PlatformServices;
}

interface SayOptions extends Pick<TurnOptions, "timeline"> {
  readonly steps: readonly Step[];
  /** `null` answers the newest message of the history. */
  readonly question?: string | null;
  readonly signal?: AbortSignal;
  /** Replaces the scripted model. */
  readonly model?: LanguageModel;
  /** Called with each chunk as it is emitted, and all chunks so far. */
  readonly onChunk?: (chunk: UIMessageChunk, chunks: readonly UIMessageChunk[]) => void;
}

export interface Turn {
  readonly result: TurnResult;
  readonly chunks: readonly UIMessageChunk[];
  /** The options that the model received, one entry per call. */
  readonly calls: readonly LanguageModelV4CallOptions[];
  readonly store: VariableStore;
  readonly history: History;
}

/** A conversation in memory, with a clock that stands still and numbered ids. */
export class Conversation {
  readonly agent: Agent;
  readonly store: VariableStore;
  readonly history: History;
  readonly journal: Journal;
  nowMs = START_MS;
  readonly #spendLimits: SpendLimits;
  readonly #leases: QuotaService | undefined;
  readonly #services: PlatformServices;
  #ids = 0;

  constructor({ agent, tools = {}, instructions = "Help.", ...options }: ConversationOptions) {
    this.#spendLimits = options.spendLimits ?? {};
    this.#leases = options.leases;
    this.#services = options.services ?? {};
    const { naming } = options;
    const about = { name: "test", description: "For tests.", instructions, tools };
    this.agent = agent ?? { ...about, ...(naming === undefined ? {} : { naming }) };
    this.store = options.store ?? new MemoryStore({ now: () => this.nowMs });
    this.history = options.history ?? emptyHistory();
    this.journal = emptyJournal();
  }

  /** Runs one turn. */
  say({ question = "Hello.", ...options }: SayOptions): Promise<Turn> {
    const message = question === null ? {} : { message: this.#question(question) };
    return this.#play(options, (turn) => runTurn(turn, message));
  }

  /** Resumes the newest turn with approval of the first waiting call. */
  approve(options: Omit<SayOptions, "question">): Promise<Turn> {
    const [approvalId = ""] = waitingCalls(this.history.newest()).keys();
    return this.#play(options, (turn) => resumeTurn(turn, [{ approvalId, approved: true }]));
  }

  /** Resumes the newest turn with refusal of the first waiting call. */
  deny(options: Omit<SayOptions, "question">): Promise<Turn> {
    const [approvalId = ""] = waitingCalls(this.history.newest()).keys();
    return this.#play(options, (turn) => resumeTurn(turn, [{ approvalId, approved: false }]));
  }

  async #play(
    { steps, signal, onChunk, model, ...timing }: SayOptions,
    work: (options: TurnOptions) => Promise<TurnResult>,
  ): Promise<Turn> {
    const scripted = scriptedModel(steps);
    const chunks: UIMessageChunk[] = [];
    const result = await work({
      ...timing,
      agent: this.agent,
      model: model ?? scripted,
      store: this.store,
      history: this.history,
      now: () => this.nowMs,
      newId: () => this.#newId("answer"),
      journal: this.journal,
      log: new TurnLog({ now: () => this.nowMs }),
      conversation: "test",
      keyPrefix: "test",
      spendLimits: this.#spendLimits,
      leases: this.#leases,
      services: this.#services,
      sleep: async () => undefined,
      signal: signal ?? new AbortController().signal,
      cost: () => NO_COST,
      emit: (chunk) => {
        // Copied, as when sent over a network, so that later changes to the chunk do not show.
        chunks.push(JSON.parse(JSON.stringify(chunk)) as UIMessageChunk);
        onChunk?.(chunk, chunks);
      },
    });
    return { result, chunks, calls: scripted.calls, store: this.store, history: this.history };
  }

  #question(text: string): StoredMessage {
    return userMessage(this.#newId("question"), text);
  }

  #newId(kind: string): string {
    return `${kind}_${++this.#ids}`;
  }
}

/** Runs one turn in a new conversation. */
export function turnWith(options: ConversationOptions & SayOptions): Promise<Turn> {
  return new Conversation(options).say(options);
}

export function emptyHistory(): History {
  const sql = new NodeSql();
  migrate(sql);
  return new History(sql);
}

function emptyJournal(): Journal {
  const sql = new NodeSql();
  migrate(sql);
  return new Journal(sql);
}

export function userMessage(id: string, text: string): StoredMessage {
  const createdAt = new Date(START_MS).toISOString();
  return { id, role: "user", parts: [{ type: "text", text }], createdAt };
}

/** Returns the message that a stock client builds from the chunks, after the message that it had before. */
export async function readMessage(
  chunks: readonly UIMessageChunk[],
  before?: UIMessage,
): Promise<{ message: UIMessage | undefined; errors: readonly string[] }> {
  const errors: string[] = [];
  let message = before && structuredClone(before);
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const onError = (error: unknown) => void errors.push(String(error));
  const reading = { stream, onError, ...(message && { message }) };
  for await (const state of readUIMessageStream(reading)) message = state;
  return { message, errors };
}

/** Returns the text of all chunks, joined. */
export function shownText(chunks: readonly UIMessageChunk[]): string {
  return chunks.flatMap((chunk) => (chunk.type === "text-delta" ? chunk.delta : [])).join("");
}

export function typesOf(chunks: readonly UIMessageChunk[]): readonly string[] {
  return chunks.map((chunk) => chunk.type);
}

/** Returns the chunks of one type. */
export function chunksOf<Type extends UIMessageChunk["type"]>(
  chunks: readonly UIMessageChunk[],
  type: Type,
) {
  return chunks.filter(
    (chunk): chunk is Extract<UIMessageChunk, { type: Type }> => chunk.type === type,
  );
}

/** Returns the data of the chunks of one `data-` type. */
export function dataOf(chunks: readonly UIMessageChunk[], type: `data-${string}`) {
  return chunks.flatMap((chunk) => (chunk.type === type && "data" in chunk ? [chunk.data] : []));
}

/** Returns a tool call's result as the model saw it in the prompt of its n-th call. */
export function resultShown(turn: Turn, call: number, toolCallId: string): unknown {
  const prompt = promptOf(turn, call);
  for (const message of prompt) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result" || part.toolCallId !== toolCallId) continue;
      return "value" in part.output ? part.output.value : part.output;
    }
  }
  return undefined;
}

export function promptOf({ calls }: Pick<Turn, "calls">, call: number): LanguageModelV4Prompt {
  const options = calls[call];
  if (options === undefined) throw new Error(`The model was called ${calls.length} times.`);
  return options.prompt;
}

/** Returns all messages of the history, as stored. */
export function historyText(history: History): string {
  return JSON.stringify(history.page({ limit: 1_000 }).messages);
}
