import type { UIMessageChunk } from "ai";
import { migrate } from "../../src/store/rows/migrations.ts";
import { Journal, type JournalEntry, type TurnHead } from "../../src/turn/log/journal.ts";
import { TurnLog, type TurnLogOptions } from "../../src/turn/log/turn-log.ts";
import { NOTHING_SPENT } from "../../src/turn/spend/spend.ts";
import { NodeSql } from "./node-sql.ts";

export const START_MS = 1_000_000;

export const head: TurnHead = {
  id: "t",
  attempt: 1,
  isOpen: true,
  agent: "a",
  conversation: "c",
  spent: NOTHING_SPENT,
};
export const second = { ...head, attempt: 2 };
export const closed = { ...head, isOpen: false };

/** State of a turn in which nothing has been counted yet. */
export const state: JournalEntry["state"] = {
  usage: {},
  savings: { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 },
  spent: NOTHING_SPENT,
  tainted: false,
  waiting: {},
};

/** Logs over one journal, with their own database and clock. */
export class LoggedTurns {
  readonly sql = new NodeSql();
  readonly journal: Journal;
  nowMs = START_MS;

  constructor() {
    migrate(this.sql);
    this.journal = new Journal(this.sql);
  }

  newLog(options: TurnLogOptions = {}): TurnLog {
    return new TurnLog({ now: () => this.nowMs, ...options });
  }

  /** A log with a turn that has begun. */
  begun(options: TurnLogOptions = {}): TurnLog {
    const log = this.newLog(options);
    log.begin(this.journal, head, () => log.push({ type: "start" }));
    return log;
  }

  /** Returns the letters of the journal's lines. Frames include their label. */
  written(): readonly string[] {
    const lines = new Journal(this.sql).read().split("\n").slice(0, -1);
    return lines.map((line) =>
      line.startsWith("f") ? `f ${labelOf(line.slice(1))}` : line.slice(0, 1),
    );
  }
}

export function delta(text: string): UIMessageChunk {
  return { type: "text-delta", id: "x", delta: text };
}

/** Returns the text of a frame, or else its type. */
export function labelOf(data: string): string {
  const { type, delta: text } = JSON.parse(data) as { type: string; delta?: string };
  return text ?? type;
}

/** Labels of the frames that a watcher from `first` receives. */
export function seen(log: TurnLog, first = 0): readonly string[] {
  return log.slice(first, first).map(({ data }) => labelOf(data));
}

/** Commits that become durable, or fail, when `settle` is called. */
export function durability() {
  const waiting: PromiseWithResolvers<void>[] = [];
  const durable = () => {
    const next = Promise.withResolvers<void>();
    waiting.push(next);
    return next.promise;
  };
  const settle = async (index: number, error?: Error) => {
    if (error === undefined) waiting[index]?.resolve();
    else waiting[index]?.reject(error);
    await new Promise(setImmediate);
  };
  return { durable, settle };
}
