/** Which variables somebody needs, and must not be evicted: those of a running turn, of a waiting plan. */
export class Holds {
  readonly #byOwner = new Map<string, Set<string>>();

  hold(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    if (names === undefined) this.#byOwner.set(owner, new Set([name]));
    else names.add(name);
  }

  /** What the owner holds. */
  names(owner: string): readonly string[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }

  release(owner: string): void {
    this.#byOwner.delete(owner);
  }

  has(name: string): boolean {
    for (const names of this.#byOwner.values()) if (names.has(name)) return true;
    return false;
  }
}
