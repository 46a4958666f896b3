import { parseExactly } from "../../value/exact-number.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import {
  firstRow,
  numberIn,
  numberOf,
  type Sql,
  type SqlRow,
  textIn,
} from "../../store/rows/sql.ts";
import { clip } from "../../value/characters.ts";
import { compact } from "../../value/json.ts";
import type { Change, EvictionReason, VariableInfo } from "../../store/variable.ts";

/** An event of a conversation: names, sizes, tools and times, never a value. */
export interface ConversationEvent {
  /** Counts up from 1 in each conversation. */
  readonly id: number;
  /** ISO 8601. */
  readonly at: string;
  readonly type: EventType;
  readonly variable?: ReturnType<typeof eventVariable>;
  /** Without `bytes`: it was deleted. */
  readonly file?: { readonly path: string; readonly bytes?: number };
  /** The names of the variables that a query read. Its text may contain values. */
  readonly query?: { readonly variables: readonly string[]; readonly digest: string };
  /** Set for a variable that was saved: the first names of those that are made of an older version of it. */
  readonly stale?: readonly string[];
  readonly reason?: EvictionReason;
  readonly turn?: string;
  readonly plan?: string;
  readonly run?: string;
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The decided approval of a call, or gate of a run. */
  readonly approval?: string;
  /** Set if a person approved a call with another input than the model's. */
  readonly changed?: true;
  /** Who started the turn or run, or decided. Absent where the authenticator names none. */
  readonly principal?: string;
  /** The error code of a failed tool call or turn. */
  readonly code?: string;
  /** The limit that a failed turn names. */
  readonly limit?: string;
}

type EventType =
  | `variable.${"saved" | "updated" | "deleted" | "evicted"}`
  | "variables.queried"
  | `file.${"saved" | "deleted"}`
  | `tool.${"called" | "done" | "failed"}`
  | `approval.${"granted" | "denied"}`
  | `turn.${"started" | "recovered" | "done" | "failed"}`
  | `plan.${"proposed" | "approved" | "cancelled"}`
  | `run.${"started" | "waiting" | "recovered" | "done" | "failed" | "cancelled"}`;

/** Maximum events in one row. */
const MAX_ROW_EVENTS = 500;
/** Maximum characters in one row. Bounds what a page reads beyond its last event. */
const MAX_ROW_CHARS = 65_536;
const ROWS_AT_ONCE = 8;
/** Number of rows that `recent` reads. A turn writes only a few. */
const RECENT_ROWS = 20;
/** Maximum length of names chosen by a model, a server or a file. */
const MAX_NAME_CHARS = 255;
/** Maximum sources listed for a variable. Further sources are left out. */
const MAX_SOURCES = 20;

/**
 * The audit log of one conversation. Events wait in memory until `flush` writes all of them as one row, so a
 * turn costs one row however many events it has.
 */
export class EventLog {
  readonly #sql: Sql;
  readonly #now: () => number;
  readonly #onFlush: () => void;
  #waiting: ConversationEvent[] = [];
  /** The id of the newest event, and the time of the last activity, also of unwritten ones. */
  #newest: { readonly id: number; readonly activeMs: number } | undefined;

  /** `isNew`: nothing has been written yet. Skips reads. `onFlush`: called when waiting events were written. */
  constructor(sql: Sql, { now = Date.now, isNew = false, onFlush = () => {} } = {}) {
    this.#sql = sql;
    this.#now = now;
    this.#onFlush = onFlush;
    if (isNew) this.#newest = { id: 0, activeMs: 0 };
  }

  add(event: NewEvent): void {
    this.#add(event, this.#now());
  }

  addChange(change: Change): void {
    const { kind, info } = change;
    const { stale } = kind === "saved" ? change : {};
    const type = `variable.${kind}` as const;
    const event = { type, variable: eventVariable(info), ...compact({ stale }) };
    if (kind !== "evicted") return this.add(event);
    // An eviction is not an activity. The last use of the variable counts.
    const { reason } = change.tombstone;
    this.#add({ ...event, reason }, Date.parse(info.accessedAt));
  }

  /** The id of the newest event, including unwritten ones. 0 if there are none. */
  get newestId(): number {
    return this.#readNewest().id;
  }

  /**
   * Appends events of another log. They count as recent activity. Throws
   * `bad_value` if their ids do not follow the existing ones, or if one event is a megabyte long.
   */
  restore(events: readonly ConversationEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    const { id } = this.#readNewest();
    const start = id === 0 ? first.id : id + 1;
    if (events.some((event, index) => event.id !== start + index)) {
      throw new ByrefError("bad_value", "Events have ids without a gap.");
    }
    const short = events.map(withShortNames);
    if (short.some((event) => JSON.stringify(event).length > limits.maxRecordBytes)) {
      throw new ByrefError("bad_value", "An event is too long.");
    }
    this.#newest = { id: start + events.length - 1, activeMs: this.#now() };
    this.#waiting = [...this.#waiting, ...short];
    this.#write();
  }

  /** Time of the last recorded activity, in milliseconds since 1970. 0 if there was none. */
  get lastActiveMs(): number {
    return this.#readNewest().activeMs;
  }

  /** Writes pending events, one row for up to 500 events or about 64 KiB. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#write();
    this.#onFlush();
  }

  #write(): void {
    for (const [first, data] of rowsOf(this.#waiting)) {
      const insert = `INSERT INTO event (seq, at, data) VALUES (?, ?, ?)`;
      this.#sql.run(insert, first, this.lastActiveMs, data);
    }
    this.#waiting = [];
  }

  /** Returns written events with ids above `after`, oldest first. Reads at most a few rows more. */
  list({ after, limit }: { readonly after: number; readonly limit: number }): EventPage {
    const events: ConversationEvent[] = [];
    for (const event of this.#eventsAfter(after)) {
      if (events.length === limit) return { events, next: events.at(-1)?.id ?? after };
      events.push(event);
    }
    return { events };
  }

  *#eventsAfter(after: number): Generator<ConversationEvent> {
    // The row that contains `after` may contain later events too.
    const last = `SELECT max(seq) FROM event WHERE seq <= ?`;
    for (let from = numberOf(this.#sql, last, after); ;) {
      const rows = this.#sql.all(
        `SELECT seq, data FROM event WHERE seq >= ? ORDER BY seq LIMIT ${ROWS_AT_ONCE}`,
        from,
      );
      for (const row of rows) {
        yield* eventsIn(row).filter(({ id }) => id > after);
        from = numberIn(row, "seq") + 1;
      }
      if (rows.length < ROWS_AT_ONCE) return;
    }
  }

  /** The newest written events, some hundreds, in any order. */
  recent(): readonly ConversationEvent[] {
    return this.#sql
      .all(`SELECT data FROM event ORDER BY seq DESC LIMIT ${RECENT_ROWS}`)
      .flatMap(eventsIn);
  }

  /** Deletes all but the newest `maxEntries`, in whole rows. */
  prune(): void {
    const oldest = this.#readNewest().id - limits.maxEntries;
    if (oldest > 0) this.#sql.run(`DELETE FROM event WHERE seq < ?`, oldest - MAX_ROW_EVENTS);
  }

  #add(event: NewEvent, activeMs: number): void {
    const newest = this.#readNewest();
    const id = newest.id + 1;
    this.#newest = { id, activeMs: Math.max(newest.activeMs, activeMs) };
    this.#waiting.push({ id, at: new Date(this.#now()).toISOString(), ...withShortNames(event) });
  }

  #readNewest() {
    if (this.#newest !== undefined) return this.#newest;
    const newest = `SELECT seq, at, data FROM event ORDER BY seq DESC LIMIT 1`;
    const row = firstRow(this.#sql, newest) ?? { seq: 1, at: 0, data: "[]" };
    const id = numberIn(row, "seq") + eventsIn(row).length - 1;
    return (this.#newest = { id, activeMs: numberIn(row, "at") });
  }
}

export type NewEvent = Omit<ConversationEvent, "id" | "at">;

/** Splits events into rows of at least one event each: the id of the first, and all of them as JSON. */
function* rowsOf(events: readonly ConversationEvent[]): Generator<[first: number, data: string]> {
  for (let from = 0; from < events.length;) {
    const texts: string[] = [];
    let chars = 0;
    for (const event of events.slice(from, from + MAX_ROW_EVENTS)) {
      const text = JSON.stringify(event);
      chars += text.length + 1;
      if (texts.length > 0 && chars > MAX_ROW_CHARS) break;
      texts.push(text);
    }
    yield [events[from]?.id ?? 0, `[${texts.join(",")}]`];
    from += texts.length;
  }
}

/** Shortens names that come from outside, which may be of any length. */
export function withShortNames<Event extends NewEvent>(event: Event): Event {
  const { variable } = event;
  const sources = variable?.sources.slice(0, MAX_SOURCES).map((name) => clip(name, MAX_NAME_CHARS));
  return {
    ...withShortCall(event),
    ...(variable && { variable: { ...withShortCall(variable), sources } }),
  };
}

function withShortCall<Part extends Pick<NewEvent, "tool" | "toolCallId">>(part: Part): Part {
  const short = (name: string | undefined) => name && clip(name, MAX_NAME_CHARS);
  return { ...part, ...compact({ tool: short(part.tool), toolCallId: short(part.toolCallId) }) };
}

export interface EventPage {
  readonly events: readonly ConversationEvent[];
  /** The `after` of the next page. Absent on the last page. */
  readonly next?: number;
}

function eventsIn(row: SqlRow): ConversationEvent[] {
  // `flush` wrote these rows.
  return parseExactly(textIn(row, "data")) as ConversationEvent[];
}

export function eventVariable(info: VariableInfo) {
  const { name, version, type, bytes, scope, visibility, sources, trusted, pinned } = info;
  const { tool, toolCallId, expiresAt } = info;
  const labels = { scope, visibility, sources, trusted, pinned };
  return compact({ name, version, type, bytes, ...labels, tool, toolCallId, expiresAt });
}
