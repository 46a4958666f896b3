import type { Reference, Segment } from "../../../../src/references.ts";

export interface Writer {
  readonly call: number;
  /** The call's output path as written. Absent if the call always writes the place when it is done. */
  readonly source?: string;
}

/**
 * The calls that write a reference's value: writers of it or of a value that contains it, and writers of its
 * parts.
 */
export interface Writers {
  readonly whole: readonly Writer[];
  readonly parts: readonly Writer[];
}

/** Maximum overlapping writers returned. Enough for an error message. */
const MAX_OVERLAPS = 3;

/** The places that a plan's calls write. Cost of a lookup: the path's length plus the writers found. */
export class PathIndex {
  /** Writers of exactly a place, and of places below it, by the place. */
  readonly #at = new Map<string, Writer[]>();
  readonly #below = new Map<string, Writer[]>();

  /** Adds a writer. Returns the first few other calls whose places overlap. */
  add(place: Reference, writer: Writer): readonly Writer[] {
    const places = placesIn(place, (segment) => keyOf(segment) ?? "#");
    const own = places.pop() ?? "";
    const overlaps = [...places, own].flatMap((one) => this.#at.get(one) ?? []);
    overlaps.push(...(this.#below.get(own) ?? []));
    put(this.#at, own, writer);
    for (const above of places) put(this.#below, above, writer);
    const others = overlaps.filter(({ call }) => call !== writer.call);
    return [...new Map(others.map((other) => [other.call, other])).values()].slice(0, MAX_OVERLAPS);
  }

  find(place: Reference): Writers {
    const places = placesIn(place, keyOf);
    const whole = places.flatMap((one) => this.#at.get(one) ?? []);
    return { whole, parts: this.#below.get(places.at(-1) ?? "") ?? NONE };
  }

  has(name: string): boolean {
    return this.#at.has(name) || this.#below.has(name);
  }
}

const NONE: readonly Writer[] = [];

function put(writers: Map<string, Writer[]>, place: string, writer: Writer): void {
  const known = writers.get(place);
  if (known === undefined) writers.set(place, [writer]);
  else known.push(writer);
}

/** The name and each place on the path, up to a segment without a key. */
function placesIn({ name, path }: Reference, key: typeof keyOf): string[] {
  const places = [name];
  for (const segment of path) {
    const next = key(segment);
    if (next === undefined) break;
    places.push(places.at(-1) + next);
  }
  return places;
}

/** Returns undefined for a segment that covers several elements, or that counts from the end. */
function keyOf(segment: Segment): string | undefined {
  if ("key" in segment) return `.${JSON.stringify(segment.key)}`;
  return "index" in segment && segment.index >= 0 ? `#${segment.index}` : undefined;
}
