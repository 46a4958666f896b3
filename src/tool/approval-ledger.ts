/** Where a host keeps its open questions: in memory (a `Map` is one), with its messages, or in a database. */
export interface Questions<Asked> {
  get(id: string): Asked | undefined;
  set(id: string, asked: Asked): unknown;
  /** False if there is none, for example because another process has just deleted it. */
  delete(id: string): boolean;
}

/**
 * The open questions to people whether a call may run, by the id of an approval or of a call. `Asked` is the pin of the
 * input that would run (`Ready.pin`), or contains it: before the call runs, its input is resolved again and compared.
 * Whoever takes a question decides, once. What clients send back only names a question, and proves nothing.
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

  /** Closes the question and returns what was asked. Undefined if it is not open, or not about `pin`, if that is set. */
  take(id: string, pin?: Asked): Asked | undefined {
    const asked = this.#questions.get(id);
    const isMeant = pin === undefined || asked === pin;
    return isMeant && this.#questions.delete(id) ? asked : undefined;
  }
}
