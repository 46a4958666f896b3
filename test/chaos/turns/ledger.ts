/** An event in the world; `at` numbers them in order. */
export type Entry = { readonly at: number; readonly atMs: number; readonly marker: string } & Fact;

type Fact =
  /** The model was called; `results` are the ids of the calls whose results it received. */
  | { readonly kind: "model"; readonly step: number; readonly results: ReadonlySet<string> }
  /** The stream of its answer ended. */
  | { readonly kind: "answered"; readonly step: number; readonly fault?: string }
  /** A tool was called, did its work, or replied; `id` is the model's id for the call. */
  | { readonly kind: "start" | "effect" | "reply"; readonly id: string; readonly key: string };

/** Records tool work and model calls in the test's process, where a crash of the server loses none. */
export class Ledger {
  readonly #entries: Entry[] = [];
  readonly #watchers = new Set<(entry: Entry) => void>();

  get length(): number {
    return this.#entries.length;
  }

  add(marker: string, fact: Fact): void {
    const entry = { at: this.#entries.length, atMs: performance.now(), marker, ...fact };
    this.#entries.push(entry);
    for (const watch of this.#watchers) watch(entry);
  }

  of(marker: string): readonly Entry[] {
    return this.#entries.filter((entry) => entry.marker === marker);
  }

  watch(watcher: (entry: Entry) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function tellEntry({ atMs, ...entry }: Entry): string {
  const plainSets = (_: string, value: unknown) => (value instanceof Set ? [...value] : value);
  return `${atMs.toFixed(0)} ${JSON.stringify(entry, plainSets)}`;
}
