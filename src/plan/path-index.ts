import type { Reference } from "../reference/reference.ts";
import type { Segment } from "../value/path.ts";

/** Which calls write where, by name and path. */
interface Node {
  readonly children: Map<string, Node>;
  /** Writers of exactly this place. */
  readonly writers: Writer[];
}

/** A place that a call writes, or may write. */
export interface Writer {
  readonly call: number;
  /** As the call's output path has it; without: whenever it is done, it has written it. */
  readonly source?: string;
}

/** Of those that a place overlaps with, so many are enough to tell. */
const MAX_OVERLAPS = 3;

/** What a reference will find: writers of it or of what it is a part of, and of parts of it. */
export interface Writers {
  readonly whole: readonly Writer[];
  readonly parts: readonly Writer[];
}

/** The places that a plan's calls write. Cost of a look-up: the path's length, and what is found. */
export class PathIndex {
  readonly #names = new Map<string, Node>();
  /** What was found below a place, until something is added: many may ask for the same. */
  readonly #below = new Map<Node, readonly Writer[]>();

  /** Other calls whose places the place overlaps with: the first few. */
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
      // All of the elements, or some that nobody can tell beforehand.
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

/** Undefined for what stands for several elements, or for one that is counted from the end. */
function keyOf(segment: Segment): string | undefined {
  if ("key" in segment) return `.${segment.key}`;
  return "index" in segment && segment.index >= 0 ? `#${segment.index}` : undefined;
}
