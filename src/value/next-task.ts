/** Lets other work of the process go on, such as requests of others, between the parts of a long computation. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** Work between two breaks, in characters that are read: about 50 ms. */
const BREAK_CHARS = 4_194_304;

/** Says when a long computation should wait for `nextTask`. */
export class Breaks {
  #due = BREAK_CHARS;

  /** `done`: the work so far, in characters. */
  areDue(done: number): boolean {
    if (done < this.#due) return false;
    this.#due = done + BREAK_CHARS;
    return true;
  }
}
