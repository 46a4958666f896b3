import { Taint } from "../../store/labels.ts";
import { ApprovalLedger } from "../../tool/policy.ts";
import { variableIn } from "../../tool/tool-output.ts";
import type { StoredMessage } from "../history/stored-message.ts";
import type { JournalCall, JournalEntry, TurnCounts } from "./journal.ts";
import { displayOf, MessageParts } from "../history/message-parts.ts";
import type { TurnContext } from "../turn-context.ts";
import type { PromptRecord } from "../history/variable-list.ts";
import { waitingCalls } from "../waiting-calls.ts";
import { compact } from "../../value/json.ts";

export interface TurnStateOptions {
  readonly id: string;
  /** The prefix of its calls' idempotency keys. */
  readonly key: string;
  /** The message that continues, if it has waited for a person. */
  readonly resumed?: StoredMessage | undefined;
  /** True if the model has seen untrusted content. */
  readonly isTainted: boolean;
  /** The turn's counts before it waited for a person. */
  readonly counts?: TurnCounts | undefined;
}

/** The answer, decisions and counts of a turn so far. Written to the log, and restored after a crash. */
export class TurnState {
  readonly parts: MessageParts;
  readonly taint: Taint;
  /** The pins of the inputs that wait for a person, by approval. */
  readonly waiting = new Map<string, string>();
  readonly approvals = new ApprovalLedger(this.waiting);
  /** Calls that have begun and have no outcome yet, by id. */
  readonly begun = new Map<string, JournalCall>();
  /** The state of the prompts, set by `Steps`. */
  prompt: PromptRecord | undefined;
  readonly #context: TurnContext;
  readonly #options: TurnStateOptions;

  constructor(context: TurnContext, options: TurnStateOptions) {
    const { resumed, isTainted, counts } = options;
    this.#context = context;
    this.#options = options;
    this.parts = new MessageParts(resumed);
    this.taint = new Taint(isTainted);
    this.prompt = resumed?.prompt;
    this.#refill(resumed?.waiting);
    if (counts !== undefined) this.#restoreCounts(counts);
  }

  get id(): string {
    return this.#options.id;
  }

  get counts(): TurnCounts {
    const { account } = this.#context;
    return { ...account.counts, tainted: this.taint.isTainted, waiting: this.#pins };
  }

  get hasWaiting(): boolean {
    return waitingCalls(this.parts).size > 0;
  }

  /** The idempotency key of a call. Uses our own indices, because a model may reuse its ids. */
  keyOf(toolCallId: string): string {
    return `${this.#options.key}/${this.parts.calls().get(toolCallId)?.place}`;
  }

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

  message(parts: StoredMessage["parts"], nowMs: number): StoredMessage {
    const { display, receipt } = this.parts;
    const waits = { waiting: this.#pins, agent: this.#context.agent.name };
    return compact({
      id: this.id,
      role: "assistant" as const,
      parts,
      display: displayOf(parts, display),
      receipt,
      tainted: this.taint.isTainted || undefined,
      prompt: this.prompt,
      ...(this.waiting.size > 0 && waits),
      createdAt: new Date(nowMs).toISOString(),
    });
  }

  get #pins(): TurnCounts["waiting"] {
    return Object.fromEntries(this.waiting);
  }

  #restoreCounts({ tainted, waiting, ...counts }: TurnCounts): void {
    this.#context.account.restore(counts);
    if (tainted) this.taint.add();
    this.#refill(waiting);
  }

  #refill(pins: TurnCounts["waiting"] = {}): void {
    this.waiting.clear();
    for (const [id, pin] of Object.entries(pins)) this.waiting.set(id, pin);
  }
}
