/** Where a host keeps its open questions: in memory (a `Map` is one), with its messages, or in a database. */
export interface Questions<Asked> {
  get(id: string): Asked | undefined;
  set(id: string, asked: Asked): unknown;
  /** False if there is none, for example because another process has just deleted it. */
  delete(id: string): boolean;
}

/**
 * The open questions to people whether a call may run, by the id of an approval or of a call. `Asked` is the pin of the
 * input that would run (`Ready.pin`), or contains it: the input is resolved and pinned again before the call runs, and
 * only the input that was asked about counts as approved. A question is answered once: whoever takes it decides. What
 * a client sends back only names a question, and proves nothing.
 */
export class ApprovalLedger<Asked> {
  readonly #questions: Questions<Asked>;

  constructor(questions: Questions<Asked> = new Map()) {
    this.#questions = questions;
  }

  /** Asks in place of an earlier question of this id. */
  ask(id: string, asked: Asked): void {
    this.#questions.set(id, asked);
  }

  /** Returns what is asked, to show it. */
  about(id: string): Asked | undefined {
    return this.#questions.get(id);
  }

  /** Closes the question and returns what was asked. Undefined if it is not open. */
  take(id: string): Asked | undefined {
    const asked = this.#questions.get(id);
    return this.#questions.delete(id) ? asked : undefined;
  }

  /** Closes the question if it is about this pin, and stays open otherwise. True: the call may run now. */
  redeem(id: string, pin: Asked): boolean {
    return this.#questions.get(id) === pin && this.#questions.delete(id);
  }
}
