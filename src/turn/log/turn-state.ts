import type { VariableStore } from "../../store/variable-store.ts";
import { Taint } from "../../store/labels.ts";
import { variableIn } from "../../tool/tool-output.ts";
import type { Account } from "../spend/account.ts";
import type { StoredMessage } from "../history/history.ts";
import type { JournalEntry, TurnCounts } from "./journal.ts";
import { MessageParts } from "../history/message-parts.ts";
import { waitingCalls } from "../waiting-calls.ts";

export interface TurnStateOptions {
  readonly id: string;
  readonly agent: string;
  readonly store: VariableStore;
  /** The message that goes on, if it has waited for a person. */
  readonly resumed: StoredMessage | undefined;
  /** The model has been shown what is not trusted. */
  readonly isTainted: boolean;
  /** Where it is counted what it costs: another turn's, if it is a part of that. */
  readonly account: Account;
  /** Of this turn, before it waited for a person. */
  readonly counts?: TurnCounts;
}

/** What a turn has said, done and counted so far: what is written down of it, and read after a crash. */
export class TurnState {
  readonly parts: MessageParts;
  readonly account: Account;
  readonly taint: Taint;
  readonly waiting: Record<string, string>;
  readonly #options: TurnStateOptions;

  constructor(options: TurnStateOptions) {
    const { resumed, isTainted, account } = options;
    this.#options = options;
    this.parts = new MessageParts(resumed);
    this.account = account;
    this.taint = new Taint(isTainted);
    this.waiting = { ...resumed?.waiting };
    if (options.counts !== undefined) this.#restoreCounts(options.counts);
  }

  get id(): string {
    return this.#options.id;
  }

  get counts(): TurnCounts {
    return {
      ...this.account.counts,
      tainted: this.taint.isTainted,
      waiting: { ...this.waiting },
    };
  }

  get hasWaiting(): boolean {
    return waitingCalls({ parts: this.parts.parts, waiting: this.waiting }).size > 0;
  }

  /** As it was when these were written. */
  restore(entries: readonly JournalEntry[]): void {
    for (const { step, chunks = [], state } of entries) {
      if (step !== undefined) this.parts.restore(step);
      for (const chunk of chunks) this.parts.add(chunk);
      this.#restoreCounts(state);
    }
    for (const part of this.parts.parts) {
      const name = "output" in part ? variableIn(part.output) : undefined;
      if (name !== undefined) this.#options.store.holds.hold(this.id, name);
    }
  }

  /** The answer as it is kept. */
  message(parts: StoredMessage["parts"], nowMs: number): StoredMessage {
    const { display } = this.parts;
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const isSame = texts.every((text, index) => text === display[index]);
    return {
      id: this.id,
      role: "assistant",
      parts,
      ...(isSame ? {} : { display }),
      ...(this.taint.isTainted ? { tainted: true } : {}),
      ...(Object.keys(this.waiting).length === 0
        ? {}
        : { waiting: { ...this.waiting }, agent: this.#options.agent }),
      createdAt: new Date(nowMs).toISOString(),
    };
  }

  #restoreCounts({ tainted, waiting, ...counts }: TurnCounts): void {
    this.account.restore(counts);
    if (tainted) this.taint.add();
    for (const approval of Object.keys(this.waiting)) delete this.waiting[approval];
    Object.assign(this.waiting, waiting);
  }
}
