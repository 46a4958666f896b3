import { describe, expect, it } from "vitest";
import type { PlanView, RunView } from "../../packages/plans/src/http/plan-view.ts";
import { callsIn, gatesOf, markOfCall, markOfPlan, runsNow } from "../src/plans/call-state.ts";
import { type FlowNode, layoutOf } from "../src/plans/graph-layout.ts";
import { inputFields } from "../src/plans/plan-input.ts";

const shape = { nodeWidth: 100, nodeHeight: 40, gap: 50, space: 10 };
const right = { ...shape, direction: "right" } as const;
const flow = (edges: Readonly<Record<string, readonly string[]>>): readonly FlowNode[] =>
  Object.entries(edges).map(([id, after]) => ({ id, after }));
const placed = (nodes: readonly FlowNode[], options: Parameters<typeof layoutOf>[1] = right) => {
  const layout = layoutOf(nodes, options);
  return { ...layout, at: new Map(layout.nodes.map((node) => [node.id, node])) };
};

describe("the graph of a plan", () => {
  it("places each call after the calls that it depends on", () => {
    const { at, width, height } = placed(flow({ c: ["a", "b"], a: [], b: ["a"] }));
    expect(["a", "b", "c"].map((id) => at.get(id)?.x)).toEqual([0, 150, 300]);
    expect(width).toBe(400);
    // The edge that passes the layer of b needs its own place.
    expect(height).toBeGreaterThan(40);
  });

  it("never overlaps two calls, however they are connected", () => {
    let seed = 7;
    const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const nodes = Array.from({ length: 60 }, (_, index) => ({
      id: `n${index}`,
      after: Array.from({ length: Math.min(index, 2) }, () => `n${Math.floor(random() * index)}`),
    }));
    const { nodes: places, edges, width, height } = placed(nodes);
    expect(edges.length).toBe(nodes.reduce((sum, { after }) => sum + new Set(after).size, 0));
    for (const one of places) {
      expect(one.x).toBeGreaterThanOrEqual(0);
      expect(one.y).toBeGreaterThanOrEqual(-1e-6);
      expect(one.x + 100).toBeLessThanOrEqual(width);
      expect(one.y + 40).toBeLessThanOrEqual(height + 1e-6);
      for (const other of places) {
        const isApart = one.x !== other.x || Math.abs(one.y - other.y) >= 40 + 10 - 1e-6;
        expect(one === other || isApart).toBe(true);
      }
    }
  });
});

const call = (id: string, more = {}) =>
  ({ _id: id, _tool: "echo", status: "waiting", ...more }) as const;
const plan = (more = {}) =>
  ({
    status: "running",
    format: "json",
    calls: [
      { ...call("a"), after: [], input: "†input.x" },
      { ...call("b"), after: ["a"], input: 1, _outputPath: "†state.b" },
    ],
    runs: [],
    ...more,
  }) as unknown as PlanView;
const run = (id: string, more = {}) =>
  ({ id, status: "waiting", input: null, state: {}, calls: [], createdAt: "", ...more }) as RunView;

describe("the summary of a plan", () => {
  it("asks the person if a call waits at a gate", () => {
    expect(markOfCall(call("a", { gate: "legal" }))).toBe("asks");
    expect(markOfCall(call("a", { gate: "legal", status: "done" }))).toBe("done");
    expect(markOfPlan({ status: "running", calls: [call("a", { gate: "g" })] })).toBe("asks");
    expect(markOfPlan({ status: "done", calls: [call("a", { gate: "g" })] })).toBe("done");
  });

  it("has one question for all calls of a run that wait at the same gate", () => {
    const waiting = [call("a", { gate: "legal" }), call("b", { gate: "legal" }), call("c")];
    const gates = gatesOf([
      run("old", { status: "done", calls: waiting }),
      run("r1", { calls: waiting }),
      run("r2", {
        calls: [call("a", { gate: "pay" }), call("b", { gate: "legal", status: "done" })],
      }),
    ]);
    expect(gates.map(({ name, run, calls }) => [name, run, calls.length])).toEqual([
      ["legal", "r1", 2],
      ["pay", "r2", 1],
    ]);
  });
});

describe("the order of a plan's calls", () => {
  const afterIn = (format: string) =>
    callsIn(
      plan({ format, calls: [0, 1, 2].map((n) => ({ ...call(`c${n}`), after: ["c0"] })) }),
      undefined,
      undefined,
    ).map(({ after }) => after);

  it("follows the data, or the written order for a workflow or a template", () => {
    expect(afterIn("json")).toEqual([["c0"], ["c0"], ["c0"]]);
    expect(afterIn("template")).toEqual([[], ["c0"], ["c1"]]);
    expect(afterIn("capability-xml")).toEqual([[], ["c0"], ["c1"]]);
  });
});

describe("live runs", () => {
  it("update while they run, but not while they wait for a person", () => {
    const calls = [call("a", { gate: "legal" })];
    const runs = [run("w", { calls }), run("r", { status: "running", calls })];
    const told = new Map([["a", call("a", { status: "done" })]]);
    expect(runsNow(runs, told).map(({ calls: [one] }) => one?.status)).toEqual(["waiting", "done"]);
    expect(runsNow(runs, undefined)).toBe(runs);
  });
});

describe("the input of a run", () => {
  it("has the fields that the calls read, in any syntax", () => {
    const calls = [
      { input: { a: "†input.here", b: ["to {{ input.there }}", 3, null] } },
      { input: { text: "$input.here and variable:input.last.x; †state.input.no" } },
    ];
    expect(inputFields(calls)).toEqual(["here", "there", "last"]);
  });
});
