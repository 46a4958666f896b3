/** A layered drawing of a graph. All edges point in the direction of flow. */
export interface Layout {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

interface PlacedNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  /** SVG path data. */
  readonly path: string;
}

export interface FlowNode {
  readonly id: string;
  /** Ids of its predecessors. */
  readonly after: readonly string[];
}

export interface LayoutOptions {
  readonly direction: "right" | "down";
  readonly nodeWidth: number;
  readonly nodeHeight: number;
  /** Distance between layers. */
  readonly gap: number;
  /** Distance between neighbours in a layer. */
  readonly space: number;
}

/** A node, or a point where an edge crosses a layer. */
interface Item {
  readonly id: string | undefined;
  readonly layer: number;
  readonly before: Item[];
  readonly behind: Item[];
  /** Position of its centre, across the flow. */
  at: number;
}

const SWEEPS = 6;

export function layoutOf(nodes: readonly FlowNode[], options: LayoutOptions): Layout {
  const { direction, nodeWidth, nodeHeight, gap } = options;
  const isRight = direction === "right";
  const along = isRight ? nodeWidth : nodeHeight;
  const across = isRight ? nodeHeight : nodeWidth;
  const { layers, items, edges } = itemsOf(nodes);
  order(layers);
  place(layers, (item) => (item.id === undefined ? 0 : across), options.space);
  const all = layers.flat();
  const first = Math.min(...all.map((item) => item.at - half(item)), Infinity);
  const last = Math.max(...all.map((item) => item.at + half(item)), -Infinity);
  function half({ id }: Item): number {
    return id === undefined ? 0 : across / 2;
  }
  const start = (item: Item) => item.layer * (along + gap);
  const breadth = Math.max(0, last - first);
  const length = Math.max(0, layers.length * (along + gap) - gap);
  const point = (flow: number, side: number) =>
    isRight ? [flow, side - first] : [side - first, flow];
  return {
    nodes: [...items].map(([id, item]) => {
      const [x = 0, y = 0] = point(start(item), item.at - across / 2);
      return { id, x, y };
    }),
    edges: edges.map(({ from, to, by }) => {
      const stations = by.map((item, index) => {
        const isPassed = item.id === undefined;
        const begin = start(item);
        // An edge leaves the end of a node and enters the start of another. It crosses layers in a straight line.
        if (isPassed) return [point(begin, item.at), point(begin + along, item.at)];
        return [point(index === 0 ? begin + along : begin, item.at)];
      });
      return { from, to, path: curve(stations.flat(), isRight) };
    }),
    width: isRight ? length : breadth,
    height: isRight ? breadth : length,
  };
}

function curve(points: readonly (readonly number[])[], isRight: boolean): string {
  const [[x0 = 0, y0 = 0] = [], ...rest] = points;
  let [x, y] = [x0, y0];
  const parts = rest.map(([nextX = 0, nextY = 0]) => {
    const middle = isRight ? (x + nextX) / 2 : (y + nextY) / 2;
    const bend = isRight
      ? `${middle} ${y} ${middle} ${nextY}`
      : `${x} ${middle} ${nextX} ${middle}`;
    [x, y] = [nextX, nextY];
    return `C${bend} ${nextX} ${nextY}`;
  });
  return `M${x0} ${y0}${parts.join("")}`;
}

/** Puts each node in the layer after its last predecessor, and adds the points where edges cross layers. */
function itemsOf(nodes: readonly FlowNode[]) {
  const depths = depthsOf(nodes);
  const count = Math.max(-1, ...depths.values()) + 1;
  const layers = Array.from({ length: count }, (): Item[] => []);
  const add = (id: string | undefined, layer: number): Item => {
    const item: Item = { id, layer, before: [], behind: [], at: 0 };
    layers[layer]?.push(item);
    return item;
  };
  const items = new Map(nodes.map(({ id }) => [id, add(id, depths.get(id) ?? 0)]));
  const edges: { from: string; to: string; by: Item[] }[] = [];
  for (const { id, after } of nodes) {
    const end = items.get(id);
    for (const from of new Set(after)) {
      const begin = items.get(from);
      // Tolerates edges that the layout does not expect.
      if (begin === undefined || end === undefined || begin.layer >= end.layer) continue;
      const by = [begin];
      for (let layer = begin.layer + 1; layer < end.layer; layer++) by.push(add(undefined, layer));
      by.push(end);
      for (const [index, item] of by.entries()) {
        const next = by[index + 1];
        if (next === undefined) continue;
        item.behind.push(next);
        next.before.push(item);
      }
      edges.push({ from, to: id, by });
    }
  }
  return { layers, items, edges };
}

function depthsOf(nodes: readonly FlowNode[]): ReadonlyMap<string, number> {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const depths = new Map<string, number>();
  const open = new Set<string>();
  const depthOf = (id: string): number => {
    const done = depths.get(id);
    // Plans have no cycles. One in invalid data is cut here.
    if (done !== undefined || open.has(id)) return done ?? 0;
    open.add(id);
    const before = (known.get(id)?.after ?? []).filter((other) => known.has(other));
    const depth = Math.max(-1, ...before.map(depthOf)) + 1;
    open.delete(id);
    depths.set(id, depth);
    return depth;
  };
  for (const { id } of nodes) depthOf(id);
  return depths;
}

/**
 * Orders each layer by the mean position of its neighbours, forwards and backwards, to reduce crossings (the
 * barycenter heuristic of Sugiyama et al., 1981).
 */
function order(layers: readonly Item[][]): void {
  for (const layer of layers) for (const [index, item] of layer.entries()) item.at = index;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isThere = sweep % 2 === 0;
    for (const layer of isThere ? layers : layers.toReversed()) {
      const wanted = new Map(
        layer.map((item) => [item, mean(isThere ? item.before : item.behind) ?? item.at]),
      );
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      for (const [index, item] of layer.entries()) item.at = index;
    }
  }
}

/** Moves each item as near to the middle of its neighbours as the spacing allows. */
function place(layers: readonly Item[][], sizeOf: (item: Item) => number, space: number): void {
  for (const layer of layers)
    spread(
      layer,
      layer.map(() => 0),
      { sizeOf, space },
    );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isThere = sweep % 2 === 0;
    for (const layer of isThere ? layers : layers.toReversed()) {
      const wanted = layer.map((item) => {
        const near = isThere ? item.before : item.behind;
        return mean(near) ?? item.at;
      });
      spread(layer, wanted, { sizeOf, space });
    }
  }
}

interface Spacing {
  readonly sizeOf: (item: Item) => number;
  readonly space: number;
}

/**
 * Returns the positions with the least squared distance from the wanted ones, in this order and with this
 * spacing.
 */
function spread(
  layer: readonly Item[],
  wanted: readonly number[],
  { sizeOf, space }: Spacing,
): void {
  const offsets: number[] = [];
  for (const [index, item] of layer.entries()) {
    const previous = layer[index - 1];
    const distance = previous === undefined ? 0 : (sizeOf(previous) + sizeOf(item)) / 2 + space;
    offsets.push((offsets.at(-1) ?? 0) + distance);
  }
  // Items that would be too close form a block, placed at the mean of their wanted positions.
  const blocks: { sum: number; count: number }[] = [];
  for (const [index, offset] of offsets.entries()) {
    let block = { sum: (wanted[index] ?? 0) - offset, count: 1 };
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.count < block.sum / block.count) break;
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  let next = 0;
  for (const { sum, count } of blocks) {
    for (let member = 0; member < count; member++, next++) {
      const item = layer[next];
      if (item !== undefined) item.at = sum / count + (offsets[next] ?? 0);
    }
  }
}

function mean(items: readonly Item[]): number | undefined {
  if (items.length === 0) return undefined;
  return items.reduce((sum, { at }) => sum + at, 0) / items.length;
}
