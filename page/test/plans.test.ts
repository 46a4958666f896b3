import { expect, it } from "vitest";
import type { RunView } from "../../packages/plans/src/http/plan-view.ts";
import { gatesOf, inputFields, markOfCall, markOfPlan } from "../src/plans/call-state.tsx";

const call = (id: string, more = {}) =>
  ({ _id: id, _tool: "echo", status: "waiting", ...more }) as const;
const run = (id: string, more = {}) =>
  ({ id, status: "waiting", input: null, state: {}, calls: [], createdAt: "", ...more }) as RunView;

it("a plan asks the person if a call waits at a gate", () => {
  expect(markOfCall(call("a", { gate: "legal", status: "done" }))).toBe("done");
  expect(markOfPlan({ status: "running", calls: [call("a", { gate: "g" })] })).toBe("asks");
  expect(markOfPlan({ status: "done", calls: [call("a", { gate: "g" })] })).toBe("done");
});

it("a plan has one question for all calls of a run that wait at the same gate", () => {
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

it("the input of a run has the fields that the calls read, in any syntax", () => {
  const calls = [
    { input: { a: "†input.here", b: ["to {{ input.there }}", 3, null] } },
    { input: { text: "$input.here and variable:input.last.x; †state.input.no" } },
  ];
  expect(inputFields(calls)).toEqual(["here", "there", "last"]);
});
