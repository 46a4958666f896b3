import { type EdgeLabel, Graph, type GraphLabel, layout, type NodeLabel } from "@dagrejs/dagre";
import { useMemo } from "react";
import { useWidth } from "../hooks.ts";
import { shortened } from "../words.ts";
import { MARKS, markOfCall, MarkSign, type PlannedCall } from "./call-state.tsx";
import "./plan-graph.css";

interface PlanGraphProps {
  readonly calls: readonly PlannedCall[];
  readonly selected: string | undefined;
  readonly onSelect: (call: string | undefined) => void;
}

const NODE_HEIGHT = 52;
const MAX_NODE_WIDTH = 172;
const MIN_NODE_WIDTH = 112;
const WIDTH_STEP = 12;
const EDGE = 12;
/** Below this width in pixels, the graph runs from top to bottom. */
const WIDE = 560;
const ARROW = "plans-arrow";

/** Graph of a plan's calls and their dependencies. */
export function PlanGraph({ calls, selected, onSelect }: PlanGraphProps) {
  const [element, fullWidth] = useWidth();
  const isWide = fullWidth >= WIDE;
  const flow = JSON.stringify(calls.map(({ _id, after }) => ({ id: _id, after })));
  const { nodes, edges, width, height, nodeWidth } = useMemo(() => {
    const nodes = JSON.parse(flow) as readonly FlowNode[];
    return layoutOf(nodes, isWide ? undefined : fullWidth);
  }, [flow, isWide, isWide ? 0 : fullWidth]);
  const states = new Map(calls.map((call) => [call._id, call]));
  return (
    <div className="plans-graph" ref={element}>
      {fullWidth > 0 && (
        <svg
          width={width}
          height={height}
          role="group"
          aria-label="Steps of the plan, in the order in which they run"
        >
          <defs>
            <marker
              id={ARROW}
              viewBox="0 0 6 8"
              refX="6"
              refY="4"
              markerWidth="7"
              markerHeight="8"
              orient="auto"
            >
              <path className="plans-head-of-edge" d="M0 .5 5.5 4 0 7.5z" />
            </marker>
          </defs>
          {edges.map(({ from, to, path }) => (
            <path
              key={`${from} ${to}`}
              className={`plans-edge${selected === from || selected === to ? " plans-edge-near" : ""}`}
              d={path}
              markerEnd={`url(#${ARROW})`}
            />
          ))}
          {nodes.map(({ id, x, y }) => {
            const call = states.get(id);
            if (call === undefined) return null;
            const isSelected = selected === id;
            return (
              <g key={id} transform={`translate(${x} ${y})`}>
                <CallNode
                  {...{ call, isSelected }}
                  width={nodeWidth}
                  onSelect={() => onSelect(isSelected ? undefined : id)}
                />
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

interface FlowNode {
  readonly id: string;
  /** Ids of its predecessors. */
  readonly after: readonly string[];
}

const RIGHT = { rankdir: "LR", ranksep: 56, nodesep: 18, edgesep: 18 } as const;
const DOWN = { rankdir: "TB", ranksep: 36, nodesep: 12, edgesep: 12 } as const;

/**
 * Places the nodes from left to right; or within a width from top to bottom, where they are narrowed so that the
 * widest layer fits, if possible.
 */
function layoutOf(
  nodes: readonly FlowNode[],
  within: number | undefined,
  nodeWidth: number = MAX_NODE_WIDTH,
) {
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>();
  graph.setGraph({ ...(within === undefined ? RIGHT : DOWN), marginx: EDGE, marginy: EDGE });
  for (const { id } of nodes) graph.setNode(id, { width: nodeWidth, height: NODE_HEIGHT });
  // Of two equally good orders of a node's successors, dagre takes the reverse of the given one.
  for (const { id, after } of nodes.toReversed()) {
    for (const from of after) if (graph.hasNode(from)) graph.setEdge(from, id, {});
  }
  if (nodes.length > 0) layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  if (within !== undefined && width > within && nodeWidth > MIN_NODE_WIDTH) {
    return layoutOf(nodes, within, nodeWidth - WIDTH_STEP);
  }
  const isRight = within === undefined;
  const reach = isRight ? { x: nodeWidth / 2, y: 0 } : { x: 0, y: NODE_HEIGHT / 2 };
  /** A point of a node, relative to its centre. */
  const pointOf = (id: string, { x, y }: Point): Point => {
    const { x: centreX = 0, y: centreY = 0 } = graph.node(id);
    return { x: centreX + x, y: centreY + y };
  };
  const edges = graph.edges().map(({ v: from, w: to }) => {
    // An edge leaves the middle of a node's end and enters the middle of another's start.
    const { points = [] } = graph.edge(from, to);
    // Of the points between, every second one is in a layer; the others are between two.
    const between = points.slice(1, -1).filter((_, index) => index % 2 === 1);
    const end = pointOf(to, { x: -reach.x, y: -reach.y });
    return { from, to, path: curve([pointOf(from, reach), ...between, end], isRight) };
  });
  const corner = { x: -nodeWidth / 2, y: -NODE_HEIGHT / 2 };
  const places = nodes.map(({ id }) => ({ id, ...pointOf(id, corner) }));
  return { nodes: places, edges, width, height, nodeWidth };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function curve([first, ...rest]: readonly Point[], isRight: boolean): string {
  let { x, y } = first ?? { x: 0, y: 0 };
  let path = `M${x} ${y}`;
  for (const next of rest) {
    const [middleX, middleY] = [(x + next.x) / 2, (y + next.y) / 2];
    const bend = isRight
      ? `${middleX} ${y} ${middleX} ${next.y}`
      : `${x} ${middleY} ${next.x} ${middleY}`;
    path += `C${bend} ${next.x} ${next.y}`;
    ({ x, y } = next);
  }
  return path;
}

interface CallNodeProps {
  readonly call: PlannedCall;
  readonly width: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

const MAX_OUTPUT_CHARS = 200;

function CallNode({ call, width, isSelected, onSelect }: CallNodeProps) {
  const { _id, _tool, after, output } = call;
  const mark = markOfCall(call);
  const behind = after.length === 0 ? "" : `, depends on ${after.join(", ")}`;
  const words = typeof output === "string" ? output : JSON.stringify(output);
  return (
    <g
      className={`plans-node plans-${mark}`}
      role="button"
      tabIndex={0}
      aria-pressed={isSelected}
      aria-label={`${_tool} ${MARKS[mark][0]}, ${_id}${behind}`}
      onClick={onSelect}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onSelect();
      }}
    >
      {words !== undefined && <title>{shortened(words, MAX_OUTPUT_CHARS)}</title>}
      <rect width={width} height={NODE_HEIGHT} rx="9" />
      <foreignObject width={width} height={NODE_HEIGHT}>
        <div className="plans-card">
          <div className="plans-tool">{_tool}</div>{" "}
          <div className="plans-call">
            <MarkSign mark={mark} />
            <span>
              {MARKS[mark][0]}, {_id}
            </span>
          </div>
        </div>
      </foreignObject>
    </g>
  );
}
