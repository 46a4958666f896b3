import { Taint } from "../../store/labels.ts";
import { variableIn } from "../../tool/tool-output.ts";
import type { StoredMessage } from "../history/history.ts";
import type { JournalEntry, TurnCounts } from "./journal.ts";
import { MessageParts } from "../history/message-parts.ts";
import type { TurnContext } from "../turn-context.ts";
import { waitingCalls } from "../waiting-calls.ts";

export interface TurnStateOptions {
  readonly id: string;
  /** The beginning of its calls' idempotency keys. */
  readonly key: string;
  /** The message that goes on, if it has waited for a person. */
  readonly resumed?: StoredMessage | undefined;
  /** The model has been shown what is not trusted. */
  readonly isTainted: boolean;
  /** Of this turn, before it waited for a person. */
  readonly counts?: TurnCounts | undefined;
}

type TurnStateContext = Pick<TurnContext, "agent" | "store" | "account">;

/** What a turn has said, done and counted so far: it is written to the log, and restored after a crash. */
export class TurnState {
  readonly parts: MessageParts;
  readonly taint: Taint;
  /** The pins of the inputs that wait for a person, by approval. */
  readonly waiting: Record<string, string>;
  readonly #context: TurnStateContext;
  readonly #options: TurnStateOptions;

  constructor(context: TurnStateContext, options: TurnStateOptions) {
    const { resumed, isTainted, counts } = options;
    this.#context = context;
    this.#options = options;
    this.parts = new MessageParts(resumed);
    this.taint = new Taint(isTainted);
    this.waiting = { ...resumed?.waiting };
    if (counts !== undefined) this.#restoreCounts(counts);
  }

  get id(): string {
    return this.#options.id;
  }

  get counts(): TurnCounts {
    return {
      ...this.#context.account.counts,
      tainted: this.taint.isTainted,
      waiting: { ...this.waiting },
    };
  }

  get hasWaiting(): boolean {
    return waitingCalls({ parts: this.parts.parts, waiting: this.waiting }).size > 0;
  }

  /** The idempotency key of a call: our indices, for a model may use its ids again. */
  keyOf(toolCallId: string): string {
    const { step, call } = this.parts.placeOf(toolCallId);
    return `${this.#options.key}/${step}/${call}`;
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
      if (name !== undefined) this.#context.store.holds.hold(this.id, name);
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
        : { waiting: { ...this.waiting }, agent: this.#context.agent.name }),
      createdAt: new Date(nowMs).toISOString(),
    };
  }

  #restoreCounts({ tainted, waiting, ...counts }: TurnCounts): void {
    this.#context.account.restore(counts);
    if (tainted) this.taint.add();
    for (const approval of Object.keys(this.waiting)) delete this.waiting[approval];
    Object.assign(this.waiting, waiting);
  }
}
