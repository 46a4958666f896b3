import { DurableObject } from "cloudflare:workers";
import type { LanguageModel, UIMessage } from "ai";
import { ByrefError, codeOf, publicMessageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { parsePath } from "../reference/grammar.ts";
import { readReference } from "../reference/lookup-in.ts";
import { describe, interpolate, type Interpolation } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { hasSchema, migrate } from "../store/migrations.ts";
import { SqlStore } from "../store/sql-store.ts";
import type { WriteMode } from "../store/write-mode.ts";
import type { Changes, ListOptions, VariableInfo, VariableStore } from "../store/variable-store.ts";
import { evictionMessage, lookupInStore } from "../tool/store-lookup.ts";
import type { Agent } from "../turn/agent.ts";
import { costSince } from "../turn/cost.ts";
import { History, type MessageForm, type StoredMessage, toUIMessage } from "../turn/history.ts";
import { Queue } from "../turn/queue.ts";
import { runTurn, type TurnResult } from "../turn/turn.ts";
import type { Json } from "../value/json.ts";
import { DurableSql } from "./durable-sql.ts";
import type { TurnRequest, UserMessage } from "./requests.ts";
import { readSettings, type Settings } from "./settings.ts";
import { TurnLog } from "./turn-log.ts";
import { respond } from "./turn-response.ts";
import { problem } from "./problem.ts";

/** What an application gives a conversation to work with. */
export interface ConversationSetup {
  readonly agents: readonly [Agent, ...Agent[]];
  readonly model: (settings: Settings) => LanguageModel;
}

export interface PutOptions {
  readonly mode?: WriteMode;
  readonly ttlMs?: number;
  readonly pinned?: boolean;
  readonly description?: string;
}

/** A variable's value as it is served. */
export interface ServedValue {
  readonly text: string;
  readonly isText: boolean;
  readonly etag: string;
}

/**
 * One conversation: its messages, its variables, its turns, its one alarm. Its name is made of tenant
 * and id (`conversation-of.ts`), so that nothing in here can reach another one's data.
 */
export class ConversationObject extends DurableObject {
  readonly #setup: ConversationSetup;
  readonly #sql: DurableSql;
  /** Both are empty, and cost nothing, until something is written: reading makes no conversation. */
  #store: VariableStore = new MemoryStore();
  #history: History | undefined;
  readonly #turns = new Queue();
  #armedForMs: number | null | undefined;

  constructor(state: DurableObjectState, env: Cloudflare.Env, setup: ConversationSetup) {
    super(state, env);
    this.#setup = setup;
    this.#sql = new DurableSql(state.storage);
    if (hasSchema(this.#sql)) this.#open();
  }

  /** Runs a turn; answers by `Accept`. The turn goes on if the client goes away. */
  override async fetch(request: Request): Promise<Response> {
    try {
      // The Worker made this body from what it had validated.
      const turn = (await request.json()) as TurnRequest;
      const cast = this.#cast(turn.agent);
      // Said at once where it can be: once the stream has begun there is no status any more.
      const asksAgain = turn.isRepeated === true && turn.message === undefined;
      if (asksAgain && this.#history?.newest() === undefined) throw nothingToRepeat();
      const log = new TurnLog();
      const result = this.#turns.run(() => this.#runTurn(turn, cast, log));
      const variables = () => this.#store.list({ last: limits.maxPageSize });
      return await respond(request.headers.get("accept"), { log, result, variables });
    } catch (error) {
      return problem(error);
    }
  }

  /** Sweeps what is due, then waits for what is due next. Runs twice without harm. */
  override async alarm(): Promise<void> {
    this.#armedForMs = null;
    const evicted = this.#store.evictExpired(Date.now(), EVICTIONS_PER_ALARM);
    if (evicted.length === EVICTIONS_PER_ALARM) await this.#armFor(Date.now());
    else await this.#arm();
  }

  readMessages(options: { limit: number; before?: string; form: MessageForm }): {
    messages: UIMessage[];
    next?: string;
  } {
    const { messages, next } = this.#history?.page(options) ?? { messages: [] };
    return {
      messages: messages.map((message) => toUIMessage(message, options.form)),
      ...(next === undefined ? {} : { next }),
    };
  }

  listVariables(options: ListOptions): readonly VariableInfo[] {
    return this.#store.list(options);
  }

  variableInfo(name: string): VariableInfo {
    const info = this.#store.info(name);
    if (info === undefined) throw this.#missing(name);
    return info;
  }

  readVariable(name: string, path: string): ServedValue {
    const info = this.variableInfo(name);
    const value = this.#valueAt(name, path);
    const etag = `"${info.version}-${Date.parse(info.updatedAt).toString(36)}"`;
    // Half a surrogate pair has no UTF-8; as JSON it is escaped.
    return typeof value === "string" && info.type === "string" && value.isWellFormed()
      ? { text: value, isText: true, etag }
      : { text: JSON.stringify(value), isText: false, etag };
  }

  async putVariable(
    name: string,
    value: Json,
    options: PutOptions,
  ): Promise<{ info: VariableInfo; isNew: boolean }> {
    this.#open();
    const isNew = options.mode === "new" || this.#store.info(name) === undefined;
    const info = this.#store.save({ name, value, ...options });
    await this.#arm();
    return { info, isNew };
  }

  interpolate(text: string, syntax: SyntaxName): Promise<Interpolation> {
    return interpolate(text, lookupInStore(this.#store), { syntaxes: [syntax] });
  }

  async changeVariable(name: string, changes: Changes): Promise<VariableInfo> {
    const info = this.#store.update(name, changes);
    if (info === undefined) throw this.#missing(name);
    await this.#arm();
    return info;
  }

  deleteVariable(name: string): boolean {
    return this.#store.delete(name);
  }

  resetVariables(keepLast: number): readonly string[] {
    return this.#store.reset(keepLast);
  }

  /** What is written from now on is kept. */
  #open(): History {
    if (this.#history !== undefined) return this.#history;
    migrate(this.#sql);
    this.#store = new SqlStore(this.#sql);
    this.#history = new History(this.#sql);
    return this.#history;
  }

  async #runTurn(turn: TurnRequest, cast: Cast, log: TurnLog): Promise<TurnResult> {
    // Making the tables is the conversation's cost, not the turn's.
    const history = this.#open();
    const before = this.#sql.cost;
    try {
      const question = this.#questionOf(turn, history);
      if (turn.input !== undefined) this.#store.save({ name: "input", value: turn.input });
      const result = await runTurn(
        {
          ...cast,
          store: this.#store,
          history,
          now: Date.now,
          newId: () => crypto.randomUUID(),
          signal: new AbortController().signal,
          cost: () => costSince(before, this.#sql.cost),
          emit: (chunk) => log.push(chunk),
        },
        question,
      );
      await this.#arm();
      return result;
    } catch (error) {
      log.push({ type: "error", errorText: `${codeOf(error)}: ${publicMessageOf(error)}` });
      throw error;
    } finally {
      log.end();
    }
  }

  /** What is asked now; undefined if a question that is there is answered again. */
  #questionOf(turn: TurnRequest, history: History): StoredMessage | undefined {
    const { isRepeated, message, messageId } = turn;
    const isThere = messageId !== undefined && history.has(messageId);
    if (isRepeated === true && (isThere || message === undefined)) {
      if (history.removeAnswers(messageId)) return undefined;
      throw nothingToRepeat();
    }
    if (message === undefined) throw nothingToRepeat();
    if (isThere && isRepeated !== true) history.removeFrom(messageId);
    return questionFrom(message);
  }

  /** Who answers, and with which model. */
  #cast(name: string | undefined): Cast {
    const settings = readSettings({ ...this.env });
    const { agents } = this.#setup;
    const wanted = name ?? settings.AGENT ?? agents[0].name;
    const agent = agents.find((candidate) => candidate.name === wanted);
    if (agent === undefined) {
      const known = agents.map((candidate) => candidate.name).join(", ");
      throw new ByrefError("unknown_agent", `There is no agent ${wanted}; there are: ${known}.`);
    }
    const { INSTRUCTIONS } = settings;
    const instructions = INSTRUCTIONS === undefined ? "" : `${INSTRUCTIONS}\n\n`;
    return {
      agent: { ...agent, instructions: `${instructions}${agent.instructions}` },
      model: this.#setup.model(settings),
      redact: redactor(settings),
    };
  }

  #valueAt(name: string, path: string): Json {
    const parsed = parsePath(path);
    if (parsed === undefined) {
      const message = `${path} is not a path; write it as behind a name, e.g. .temp or [0].id`;
      throw new ByrefError("bad_path", message);
    }
    const value = this.#store.read(name);
    if (value === undefined) throw this.#missing(name);
    const answer = readReference({ name, path: parsed }, value);
    if (answer.found) return answer.value;
    const { message, code } = describe(`${name}${path}`, answer);
    const { nearest, keys, length, near } = answer;
    throw new ByrefError(code, message, { nearest, keys: keys?.slice(0, 50), length, near });
  }

  #missing(name: string): ByrefError {
    const tombstone = this.#store.tombstone(name);
    if (tombstone === undefined) {
      return new ByrefError("variable_not_found", `There is no variable ${name}.`);
    }
    return new ByrefError("variable_evicted", evictionMessage(tombstone), { tombstone });
  }

  /** Arms the alarm for what is due next, if it is not armed for that or earlier. */
  async #arm(): Promise<void> {
    const dueMs = this.#store.nextDueMs();
    if (dueMs !== undefined) await this.#armFor(dueMs);
  }

  async #armFor(dueMs: number): Promise<void> {
    this.#armedForMs ??= await this.ctx.storage.getAlarm();
    if (this.#armedForMs !== null && this.#armedForMs <= dueMs) return;
    this.#armedForMs = dueMs;
    await this.#sql.setAlarm(dueMs);
  }
}

function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message here that could be answered again.");
}

/** Who plays what in a turn. */
interface Cast {
  readonly agent: Agent;
  readonly model: LanguageModel;
  readonly redact: (text: string) => string;
}

/** An endpoint may repeat the key that it was sent; nobody else is to read it. */
function redactor({ MODEL_API_KEY }: Settings): (text: string) => string {
  if (MODEL_API_KEY === undefined) return (text) => text;
  return (text) => text.replaceAll(MODEL_API_KEY, "[secret]");
}

/** Evictions in one pass of the alarm; what is left goes in the next, which follows at once. */
const EVICTIONS_PER_ALARM = 500;

function questionFrom(message: UserMessage): StoredMessage {
  return {
    id: message.id ?? crypto.randomUUID(),
    role: "user",
    parts: message.parts,
    createdAt: new Date().toISOString(),
  };
}
