import type { Reference, Segment } from "../../../../src/references.ts";

interface Node {
  readonly children: Map<string, Node>;
  /** Writers of exactly this place. */
  readonly writers: Writer[];
}

export interface Writer {
  readonly call: number;
  /** The call's output path as written. Absent if the call always writes the place when it is done. */
  readonly source?: string;
}

/** Maximum overlapping writers returned. Enough for an error message. */
const MAX_OVERLAPS = 3;

/**
 * The calls that write a reference's value: writers of it or of a value that contains it, and writers of its
 * parts.
 */
export interface Writers {
  readonly whole: readonly Writer[];
  readonly parts: readonly Writer[];
}

/** The places that a plan's calls write. Cost of a lookup: the path's length plus the writers found. */
export class PathIndex {
  readonly #names = new Map<string, Node>();
  /** Cache of the writers below a place, until a writer is added. Many references may share a place. */
  readonly #below = new Map<Node, readonly Writer[]>();

  /** Adds a writer. Returns the first few other calls whose places overlap. */
  add({ name, path }: Reference, writer: Writer): readonly Writer[] {
    let node = this.#nodeOf(name);
    const above: Writer[] = [...node.writers];
    for (const segment of path) {
      const key = keyOf(segment) ?? "";
      const child = node.children.get(key) ?? { children: new Map(), writers: [] };
      node.children.set(key, child);
      above.push(...child.writers);
      node = child;
    }
    const overlaps = others(writer, [above, below(node)]);
    node.writers.push(writer);
    this.#below.clear();
    return overlaps;
  }

  find({ name, path }: Reference): Writers {
    const root = this.#names.get(name);
    if (root === undefined) return { whole: [], parts: [] };
    const whole = [...root.writers];
    let node: Node | undefined = root;
    for (const segment of path) {
      const key = keyOf(segment);
      // The segment covers all elements, or one that is unknown before the run.
      if (key === undefined) break;
      node = node.children.get(key);
      if (node === undefined) return { whole, parts: [] };
      whole.push(...node.writers);
    }
    const parts = this.#below.get(node) ?? [...below(node)];
    this.#below.set(node, parts);
    return { whole, parts };
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  #nodeOf(name: string): Node {
    const node = this.#names.get(name) ?? { children: new Map(), writers: [] };
    this.#names.set(name, node);
    return node;
  }
}

function* below(top: Node): Generator<Writer> {
  const open = [...top.children.values()];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield* next.writers;
    open.push(...next.children.values());
  }
}

function others({ call }: Writer, found: readonly Iterable<Writer>[]): readonly Writer[] {
  const some = new Map<number, Writer>();
  for (const writers of found) {
    for (const writer of writers) {
      if (some.size === MAX_OVERLAPS) return [...some.values()];
      if (writer.call !== call) some.set(writer.call, writer);
    }
  }
  return [...some.values()];
}

/** Returns undefined for a segment that covers several elements, or that counts from the end. */
function keyOf(segment: Segment): string | undefined {
  if ("key" in segment) return `.${segment.key}`;
  return "index" in segment && segment.index >= 0 ? `#${segment.index}` : undefined;
}
