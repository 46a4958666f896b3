import { compact } from "../value/json.ts";
import * as limits from "../limits.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import type { RecordsFormat } from "../store/bytes/receive.ts";
import { migrate } from "../store/rows/migrations.ts";
import { type Sql, textIn, writeMeta } from "../store/rows/sql.ts";
import { SqlStore } from "../store/sql-store.ts";
import type { VariableStore } from "../store/variables.ts";
import { EventLog } from "../turn/log/event-log.ts";
import { History } from "../turn/history/history.ts";
import type { StoredMessage } from "../turn/history/stored-message.ts";
import { Journal } from "../turn/log/journal.ts";
import { HistoryVariable } from "../turn/history/history-variable.ts";
import { PostKeys } from "../turn/history/post.ts";
import { clip } from "../value/characters.ts";

/** Size limit of a conversation's variables, and retention times. */
export interface Retention {
  /** Maximum size of all values in a conversation, in bytes. Default: `maxConversationBytes`. */
  readonly quotaBytes?: number;
  /** Earlier versions that are kept of each variable that edits, `set_variable` or HTTP change. Default: 2. */
  readonly keepVersions?: number;
  /** Time until an unused variable expires, in milliseconds. Default: `variableIdleMs`. */
  readonly variableIdleMs?: number;
  /** Time until an unused conversation expires, in milliseconds. Default: `conversationIdleMs`. */
  readonly conversationIdleMs?: number;
}

export interface DataOptions {
  readonly bucket: Bucket | undefined;
  readonly retention: Retention;
  readonly csv?: RecordsFormat | undefined;
  /** From 0 to 1: of an hour, or a 24th of a shorter idle time. What was used together is then not due together. */
  readonly share?: number;
  /** Called when a variable's time of last access changes. */
  readonly onAccess: () => void;
  /** Called when events were written. */
  readonly onEvents?: () => void;
}

/** A conversation's entry in a list. */
export interface ConversationSummary {
  /** The title set by a client, or the start of the first message. */
  readonly title: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ConversationInfo extends ConversationSummary {
  readonly messages: number;
  readonly variables: number;
  /** Total size of all values. */
  readonly bytes: number;
}

/** The stored data of a conversation: messages, variables, events, title. */
export class ConversationData {
  readonly store: VariableStore;
  readonly history: History;
  readonly events: EventLog;
  readonly journal: Journal;
  readonly postKeys: PostKeys;
  readonly sql: Sql;
  /** True if the tables were created by this instance. */
  readonly isNew: boolean;
  readonly #idleMs: number;
  readonly #variableIdleMs: number;
  /** `created`; `title` if a client set it; `imported`: when the import began that made it. */
  readonly #meta: Map<string, string>;
  #variable: HistoryVariable | undefined;
  /** The default title, and the first message it was read from, which may be large. */
  #words: { readonly first: string; readonly title: string | undefined } | undefined;

  /** Creates the tables if there are none. */
  constructor(sql: Sql, options: DataOptions) {
    const { bucket, retention, csv, share = 0, onAccess, onEvents } = options;
    const nowMs = Date.now();
    const isNew = migrate(sql, nowMs);
    const { quotaBytes, keepVersions, variableIdleMs, conversationIdleMs } = retention;
    this.sql = sql;
    this.isNew = isNew;
    const prolonged = (ms: number) => ms + Math.round(share * Math.min(ms / 24, 3_600_000));
    this.#idleMs = prolonged(conversationIdleMs ?? limits.conversationIdleMs);
    this.#variableIdleMs = prolonged(variableIdleMs ?? limits.variableIdleMs);
    this.history = new History(sql, { isNew });
    this.store = new SqlStore(sql, {
      isNew,
      onAccess,
      computed: () => this.#historyVariable(),
      ...compact({ bucket, csv, quotaBytes, keepVersions, idleMs: this.#variableIdleMs }),
    });
    this.journal = new Journal(sql, { isNew });
    this.postKeys = new PostKeys(sql);
    this.events = new EventLog(sql, { isNew, ...compact({ onFlush: onEvents }) });
    this.store.observe((change) => this.events.addChange(change));
    const select = `SELECT key, value FROM meta WHERE key IN ('title', 'created', 'imported')`;
    const rows = isNew ? [{ key: "created", value: String(nowMs) }] : sql.all(select);
    this.#meta = new Map(rows.map((row) => [textIn(row, "key"), textIn(row, "value")]));
  }

  get info(): ConversationInfo {
    return {
      ...this.summary,
      messages: this.history.count(),
      variables: this.store.count(),
      bytes: this.store.bytes(),
    };
  }

  get summary(): ConversationSummary {
    const created = this.#createdMs;
    const [newest] = this.store.list({ last: 1 });
    const writtenMs = newest === undefined ? 0 : Date.parse(newest.updatedAt);
    const updatedMs = Math.max(created, this.history.lastMs() ?? 0, writtenMs);
    return {
      title: this.givenTitle ?? this.#firstWords() ?? null,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(updatedMs).toISOString(),
    };
  }

  /** When the conversation began here; unlike `createdAt`, also of an import. In milliseconds since 1970. */
  get bornMs(): number {
    return Number(this.#meta.get("imported") ?? this.#createdMs);
  }

  /** True if nothing was ever written. */
  get isEmpty(): boolean {
    return this.events.newestId === 0 && this.givenTitle === undefined;
  }

  /** The title set by a client; undefined if none was set. */
  get givenTitle(): string | undefined {
    return this.#meta.get("title");
  }

  setTitle(title: string): void {
    this.#setMeta("title", title);
  }

  /** Sets the creation time, at most now. Used by imports. */
  setCreated(timeMs: number): void {
    this.#setMeta("imported", String(this.bornMs));
    this.#setMeta("created", String(Math.min(timeMs, Date.now())));
  }

  /** Time of the last message, write or access, in milliseconds since 1970. */
  get lastActiveMs(): number {
    const lastAccessMs = this.store.lastAccessMs() ?? 0;
    return Math.max(
      this.#createdMs,
      this.history.lastMs() ?? 0,
      lastAccessMs,
      this.events.lastActiveMs,
    );
  }

  /** Time of the next maintenance, even without requests. */
  get dueMs(): number {
    const dueMs = [this.lastActiveMs + this.#idleMs, this.store.nextDueMs() ?? Infinity];
    if (this.store.hasGarbage()) dueMs.push(Date.now() + SWEEP_AFTER_MS);
    // A running turn has its own alarm; recovery of a turn that could not be ended is tried again.
    if (this.journal.head()?.isOpen === true) dueMs.push(Date.now() + RECOVER_AFTER_MS);
    return Math.min(...dueMs);
  }

  /** The shortest time without use after which something expires. */
  get shortestIdleMs(): number {
    return Math.min(this.#idleMs, this.#variableIdleMs);
  }

  isIdle(nowMs: number): boolean {
    return this.lastActiveMs + this.#idleMs <= nowMs;
  }

  /** Holds the variables of a call that waits for approval. */
  holdNeeded(): void {
    const head = this.journal.head();
    const { id = "", needs = [] } = head?.paused ?? head ?? {};
    for (const name of needs) this.store.holds.hold(id, name);
  }

  /** The variable with the compacted turns. Undefined if there are none. */
  #historyVariable(): HistoryVariable | undefined {
    const { compacted } = this.history;
    if (this.#variable?.compacted !== compacted) {
      this.#variable = compacted && new HistoryVariable(this.history, compacted);
    }
    return this.#variable;
  }

  #firstWords(): string | undefined {
    const first = this.history.firstKey();
    if (first === undefined) return undefined;
    if (this.#words?.first !== first) {
      const { message } = this.history.following(0) ?? {};
      this.#words = { first, title: message && titleOf(message) };
    }
    return this.#words.title;
  }

  get #createdMs(): number {
    return Number(this.#meta.get("created") ?? 0);
  }

  #setMeta(key: string, value: string): void {
    writeMeta(this.sql, key, value);
    this.#meta.set(key, value);
  }
}

/** Delay before the next sweep. A body in use is swept after its last reader or writer. */
const SWEEP_AFTER_MS = 60_000;

const RECOVER_AFTER_MS = 60_000;

/** The default title of a conversation: the start of its first message, as the person typed it. */
export function titleOf({ parts, display }: StoredMessage): string | undefined {
  const texts = display ?? parts.map((part) => (part.type === "text" ? part.text : ""));
  // Longer than a title, because whitespace is collapsed afterwards.
  const start = clip(texts.join(" ").trim(), 2 * limits.maxLineChars);
  const title = clip(start.replace(/\s+/gu, " "), limits.maxLineChars).trim();
  return title === "" ? undefined : title;
}
