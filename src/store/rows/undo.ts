/** What has to be done to take back what was done, newest first. */
export class Undo {
  #steps: (() => void)[] | undefined;

  record(step: () => void): void {
    this.#steps?.push(step);
  }

  /** Takes back what `work` did if it throws. One inside another is part of it. */
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

/** A Map whose changes can be taken back; the order of what comes back is not kept. */
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
