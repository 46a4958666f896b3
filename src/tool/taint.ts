/**
 * Whether the model has been shown anything, in what its prompt still holds, that somebody wrote who is not
 * trusted. From then on its own words count as untrusted too.
 */
export class Taint {
  #isTainted: boolean;

  constructor(isTainted = false) {
    this.#isTainted = isTainted;
  }

  get isTainted(): boolean {
    return this.#isTainted;
  }

  add(): void {
    this.#isTainted = true;
  }
}
