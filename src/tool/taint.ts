/**
 * Whether the model has been shown anything, in what its prompt still holds, that somebody wrote who is not
 * trusted. From then on its own words count as untrusted too.
 */
export class Taint {
  #isTainted: boolean;
  /** No model reads what is shown: it stays as it is. */
  readonly #isFixed: boolean;

  constructor(isTainted = false, { isFixed = false } = {}) {
    this.#isTainted = isTainted;
    this.#isFixed = isFixed;
  }

  get isTainted(): boolean {
    return this.#isTainted;
  }

  add(): void {
    if (!this.#isFixed) this.#isTainted = true;
  }
}
