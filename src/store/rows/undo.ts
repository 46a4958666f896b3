/** Records how to undo changes, and undoes them newest first. */
export class Undo {
  #steps: (() => void)[] | undefined;

  record(step: () => void): void {
    this.#steps?.push(step);
  }

  /** Runs `work` and undoes its changes if it throws. A nested call is part of the outer one. */
  during<Result>(work: () => Result): Result {
    if (this.#steps !== undefined) return work();
    this.#steps = [];
    try {
      return work();
    } catch (error) {
      for (const step of this.#steps.toReversed()) step();
      throw error;
    } finally {
      this.#steps = undefined;
    }
  }
}

/** A Map whose changes can be undone. Restored entries may change their order. */
export class UndoableMap<Key, Value> extends Map<Key, Value> {
  readonly #undo: Undo;

  constructor(undo: Undo) {
    super();
    this.#undo = undo;
  }

  override set(key: Key, value: Value): this {
    this.#recordBefore(key);
    return super.set(key, value);
  }

  override delete(key: Key): boolean {
    this.#recordBefore(key);
    return super.delete(key);
  }

  #recordBefore(key: Key): void {
    const before = super.get(key);
    const restore = before === undefined ? () => super.delete(key) : () => super.set(key, before);
    this.#undo.record(restore);
  }
}
