import { useMemo } from "react";
import { useWidth } from "../chart/use-width.ts";
import { markOfCall, markWords, type PlannedCall } from "./call-state.ts";
import { type FlowNode, layoutOf } from "./graph-layout.ts";
import { MarkSign } from "./mark.tsx";
import "./plan-graph.css";

interface PlanGraphProps {
  readonly calls: readonly PlannedCall[];
  readonly selected: string | undefined;
  readonly onSelect: (call: string | undefined) => void;
}

const NODE_HEIGHT = 52;
const MAX_NODE_WIDTH = 172;
const MIN_NODE_WIDTH = 112;
const EDGE = 12;
/** Below this width in pixels, the graph runs from top to bottom. */
const WIDE = 560;
const ARROW = "plans-arrow";

/** Graph of a plan's calls and their dependencies. */
export function PlanGraph({ calls, selected, onSelect }: PlanGraphProps) {
  const [element, width] = useWidth();
  const isWide = width >= WIDE;
  const flow = JSON.stringify(calls.map(({ _id, after }) => ({ id: _id, after })));
  const { layout, nodeWidth } = useMemo(() => {
    const nodes = JSON.parse(flow) as { id: string; after: string[] }[];
    return isWide ? fromLeft(nodes) : fromTop(nodes, width);
  }, [flow, isWide, isWide ? 0 : width]);
  const states = new Map(calls.map((call) => [call._id, call]));
  return (
    <div className="plans-graph" ref={element}>
      {width === 0 ? null : (
        <svg
          width={layout.width + 2 * EDGE}
          height={layout.height + 2 * EDGE}
          role="group"
          aria-label="Steps of the plan, in the order in which they run"
        >
          <ArrowHead />
          <g transform={`translate(${EDGE} ${EDGE})`}>
            {layout.edges.map(({ from, to, path }) => (
              <path
                key={`${from} ${to}`}
                className={`plans-edge${selected === from || selected === to ? " plans-edge-near" : ""}`}
                d={path}
                markerEnd={`url(#${ARROW})`}
              />
            ))}
            {layout.nodes.map(({ id, x, y }) => {
              const call = states.get(id);
              if (call === undefined) return null;
              const isSelected = selected === id;
              return (
                <g key={id} transform={`translate(${x} ${y})`}>
                  <CallNode
                    call={call}
                    width={nodeWidth}
                    isSelected={isSelected}
                    onSelect={() => onSelect(isSelected ? undefined : id)}
                  />
                </g>
              );
            })}
          </g>
        </svg>
      )}
    </div>
  );
}

function ArrowHead() {
  return (
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
  );
}

function fromLeft(nodes: readonly FlowNode[]) {
  const nodeWidth = MAX_NODE_WIDTH;
  const shape = {
    direction: "right",
    nodeWidth,
    nodeHeight: NODE_HEIGHT,
    gap: 56,
    space: 18,
  } as const;
  return { layout: layoutOf(nodes, shape), nodeWidth };
}

/** Lays out from top to bottom. Narrows the nodes so that the widest layer fits, if possible. */
function fromTop(nodes: readonly FlowNode[], width: number) {
  const shape = { direction: "down", nodeHeight: NODE_HEIGHT, gap: 36, space: 12 } as const;
  for (let nodeWidth = MAX_NODE_WIDTH; ; nodeWidth -= WIDTH_STEP) {
    const layout = layoutOf(nodes, { ...shape, nodeWidth });
    const isFitting = layout.width + 2 * EDGE <= width;
    if (isFitting || nodeWidth <= MIN_NODE_WIDTH) return { layout, nodeWidth };
  }
}

const WIDTH_STEP = 12;

interface CallNodeProps {
  readonly call: PlannedCall;
  readonly width: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function CallNode({ call, width, isSelected, onSelect }: CallNodeProps) {
  const { _id, _tool, after } = call;
  const mark = markOfCall(call);
  const behind = after.length === 0 ? "" : `, depends on ${after.join(", ")}`;
  return (
    <g
      className={`plans-node plans-${mark}`}
      role="button"
      tabIndex={0}
      aria-pressed={isSelected}
      aria-label={`${_tool} ${markWords(mark)}, ${_id}${behind}`}
      onClick={onSelect}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onSelect();
      }}
    >
      {call.output === undefined ? null : <title>{outputWords(call.output)}</title>}
      <rect width={width} height={NODE_HEIGHT} rx="9" />
      <foreignObject width={width} height={NODE_HEIGHT}>
        <div className="plans-card">
          <div className="plans-tool">{_tool}</div>{" "}
          <div className="plans-call">
            <MarkSign mark={mark} />
            <span>
              {markWords(mark)}, {_id}
            </span>
          </div>
        </div>
      </foreignObject>
    </g>
  );
}

const MAX_OUTPUT_CHARS = 200;

/** Formats an output in one line: a text as it is, other values as JSON. */
function outputWords(output: PlannedCall["output"]): string {
  const words = typeof output === "string" ? output : (JSON.stringify(output) ?? "");
  return words.length > MAX_OUTPUT_CHARS ? `${words.slice(0, MAX_OUTPUT_CHARS)}…` : words;
}
