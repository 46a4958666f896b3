import { expect, it } from "vitest";
import { replay, type Spelling, type Trace } from "../support/replay.ts";

/** Conversations with the shapes of recorded ones, written for this test. */
const traces: readonly Trace[] = [
  {
    id: "a chain of numbers",
    steps: [
      {
        tool: "divide",
        label: "var_1",
        input: { arg_0: 70, arg_1: 5 },
        refs: [],
        expect: { arg_0: 70, arg_1: 5 },
        output: { result: 14 },
      },
      {
        tool: "round",
        label: "var_2",
        input: { value: "⟦0⟧", label: "about ⟦0⟧" },
        refs: [{ name: "var_1", path: ["result"] }],
        expect: { value: 14, label: "about 14" },
        output: { result: 14, note: null },
      },
      {
        tool: "answer",
        label: null,
        input: { all: ["⟦0⟧", { nested: "⟦1⟧" }], none: "⟦2⟧" },
        refs: [
          { name: "var_1", path: [] },
          { name: "var_2", path: ["result"] },
          { name: "var_2", path: ["note"] },
        ],
        expect: { all: [{ result: 14 }, { nested: 14 }], none: null },
        output: null,
      },
    ],
  },
];
const spellings: readonly Spelling[] = ["dollar", "mustache", "dagger"];

for (const trace of traces) {
  it.each(spellings)(`${trace.id}, %s`, async (spelling) => {
    expect(await replay(trace, spelling)).toEqual([]);
  });
}

it("a replay reports different inputs of a tool", async () => {
  const [first] = traces;
  const steps = first?.steps.map((step) => ({ ...step, expect: { other: true } })) ?? [];
  const failures = await replay({ id: "wrong", steps }, "dollar");
  expect(failures).toHaveLength(3);
  expect(failures[1]).toMatchObject({ step: 1, actual: { value: 14, label: "about 14" } });
});
