import { compact } from "../value/json.ts";
import * as limits from "../limits.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import { migrate } from "../store/rows/migrations.ts";
import { type Sql, textIn } from "../store/rows/sql.ts";
import { SqlStore } from "../store/sql-store.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { EventLog } from "../turn/log/event-log.ts";
import { History, type StoredMessage } from "../turn/history/history.ts";
import { Journal } from "../turn/log/journal.ts";
import { PostKeys } from "../turn/history/post.ts";
import { clip } from "../value/characters.ts";

/** How much a conversation's variables may be, and how long things stay. */
export interface Retention {
  /** All values of a conversation, in bytes. Default: `maxConversationBytes`. */
  readonly quotaBytes?: number;
  /** An unused variable, in milliseconds. Default: `variableIdleMs`. */
  readonly variableIdleMs?: number;
  /** An unused conversation, in milliseconds. Default: `conversationIdleMs`. */
  readonly conversationIdleMs?: number;
}

export interface DataOptions {
  readonly bucket: Bucket | undefined;
  readonly retention: Retention;
  /** Called when a variable's time of last access changes. */
  readonly onAccess: () => void;
}

/** What a list of conversations says of one. */
export interface ConversationSummary {
  /** As it was given, or how the first message begins. */
  readonly title: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ConversationInfo extends ConversationSummary {
  readonly messages: number;
  readonly variables: number;
  /** Of all values. */
  readonly bytes: number;
}

interface Meta {
  /** If somebody gave it one. */
  readonly title: string | undefined;
  readonly created: number;
}

/** All that a conversation keeps: messages, variables, events, its title. */
export class ConversationData {
  readonly store: VariableStore;
  readonly history: History;
  readonly events: EventLog;
  readonly journal: Journal;
  readonly postKeys: PostKeys;
  readonly sql: Sql;
  /** The tables were created just now. */
  readonly isNew: boolean;
  readonly #idleMs: number;
  readonly #variableIdleMs: number;
  /** Once it was read. */
  #known: Meta | undefined;

  /** Creates the tables if there are none. */
  constructor(sql: Sql, { bucket, retention, onAccess }: DataOptions) {
    const nowMs = Date.now();
    const isNew = migrate(sql, nowMs);
    const { quotaBytes, variableIdleMs, conversationIdleMs } = retention;
    this.sql = sql;
    this.isNew = isNew;
    this.#idleMs = conversationIdleMs ?? limits.conversationIdleMs;
    this.#variableIdleMs = variableIdleMs ?? limits.variableIdleMs;
    this.store = new SqlStore(sql, {
      isNew,
      onAccess,
      ...compact({ bucket, quotaBytes, idleMs: variableIdleMs }),
    });
    this.history = new History(sql, { isNew });
    this.journal = new Journal(sql, { isNew });
    this.postKeys = new PostKeys(sql);
    this.events = new EventLog(sql, { isNew });
    this.store.observe((change) => this.events.addChange(change));
    if (isNew) this.#known = { title: undefined, created: nowMs };
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
    const { title, created } = this.#meta;
    const [newest] = this.store.list({ last: 1 });
    const writtenMs = newest === undefined ? 0 : Date.parse(newest.updatedAt);
    const updatedMs = Math.max(created, this.#lastMessageMs(), writtenMs);
    return {
      title: title ?? this.#firstWords() ?? null,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(updatedMs).toISOString(),
    };
  }

  /** Has nothing ever happened here? */
  get isEmpty(): boolean {
    return this.events.isEmpty && this.givenTitle === undefined;
  }

  /** Undefined if nobody gave it one. */
  get givenTitle(): string | undefined {
    return this.#meta.title;
  }

  setTitle(title: string): void {
    this.#setMeta("title", title);
  }

  /** When it was made, elsewhere; not later than now. */
  setCreated(timeMs: number): void {
    this.#setMeta("created", String(Math.min(timeMs, Date.now())));
  }

  /** When somebody last asked, wrote or read something here, in milliseconds since 1970. */
  get lastActiveMs(): number {
    const { created } = this.#meta;
    const lastAccessMs = this.store.lastAccessMs() ?? 0;
    return Math.max(created, this.#lastMessageMs(), lastAccessMs, this.events.lastActiveMs);
  }

  /** When there is next something to do, whoever asks or not. */
  get dueMs(): number {
    const dueMs = [this.lastActiveMs + this.#idleMs, this.store.nextDueMs() ?? Infinity];
    if (this.store.hasGarbage()) dueMs.push(Date.now() + SWEEP_AFTER_MS);
    // A turn that runs has an alarm of its own; one that could not be ended is tried again.
    if (this.journal.head()?.isOpen === true) dueMs.push(Date.now() + RECOVER_AFTER_MS);
    return Math.min(...dueMs);
  }

  /** After how long without use the first thing here is due. */
  get shortestIdleMs(): number {
    return Math.min(this.#idleMs, this.#variableIdleMs);
  }

  isIdle(nowMs: number): boolean {
    return this.lastActiveMs + this.#idleMs <= nowMs;
  }

  /** Collects the garbage that a crash left, and holds the variables of a call that waits for a person. */
  tidyUp(): void {
    if (this.store.hasGarbage()) {
      // No request waits for it; if it fails, the alarm tries again.
      void this.store.sweep().catch((error: unknown) => console.error(error));
    }
    const head = this.journal.head();
    const { id = "", needs = [] } = head?.paused ?? head ?? {};
    for (const name of needs) this.store.holds.hold(id, name);
  }

  #firstWords(): string | undefined {
    const first = this.history.following(0);
    return first && titleOf(first.message);
  }

  #lastMessageMs(): number {
    return this.history.lastMs() ?? 0;
  }

  get #meta(): Meta {
    this.#known ??= this.#readMeta();
    return this.#known;
  }

  #readMeta(): Meta {
    const rows = this.sql.all(`SELECT key, value FROM meta WHERE key IN ('title', 'created')`);
    const values = new Map(rows.map((row) => [textIn(row, "key"), textIn(row, "value")]));
    return { title: values.get("title"), created: Number(values.get("created") ?? 0) };
  }

  #setMeta(key: string, value: string): void {
    this.#known = undefined;
    this.sql.run(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      key,
      value,
    );
  }
}

/** A body that somebody still reads or writes is swept when they are done. */
const SWEEP_AFTER_MS = 60_000;

const RECOVER_AFTER_MS = 60_000;

/** A conversation's title if nobody gave it one: how its first message begins, as the person typed it. */
export function titleOf({ parts, display }: StoredMessage): string | undefined {
  const texts = display ?? parts.map((part) => (part.type === "text" ? part.text : ""));
  // More than is kept, for what the spaces take.
  const start = clip(texts.join(" ").trim(), 2 * limits.maxTitleChars);
  const title = clip(start.replace(/\s+/gu, " "), limits.maxTitleChars).trim();
  return title === "" ? undefined : title;
}
