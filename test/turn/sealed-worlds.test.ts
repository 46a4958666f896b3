import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { compareWorlds, toldApart } from "../support/sealed-worlds.ts";
import { sampled, samples } from "../support/slow.ts";

it(
  "a model receives the same for all sealed values, whatever calls it makes",
  sampled,
  async () => {
    expect(await compareWorlds(samples(25))).toBe("");
  },
);

describe("a model learns nothing", () => {
  const worlds = [
    { patients: [{ name: "Ada" }, 1, 2], note: "aaaaaa" },
    { patients: [{ nick: "Bob" }, 1, 2], note: "bbbbbb" },
  ] as const;
  const made = (code: string) => ({
    tool: "run_code",
    input: { code, variables: ["note"] },
  });
  const call = (tool: string, input: Json) => ({ tool, input });
  const shape = made("return note[0] === 'a' ? 1 : { b: [[1]] }");

  it("from a place that has no room for the value", async () => {
    const _outputPath = `$orders[0]${".a".repeat(197)}`;
    const steps = [[shape], [call("pass", { v: "$run_code_1", _outputPath })]];
    expect(await toldApart(worlds, { made: steps })).toBe("");
  });

  it("from a place in a variable that became sealed in the same step", async () => {
    const steps = [
      [shape],
      [
        call("pass", { v: "$run_code_1", _outputPath: "$kept" }),
        call("pass", { v: 5, _outputPath: "$kept.b" }),
      ],
    ];
    expect(await toldApart(worlds, { made: steps })).toBe("");
  });

  it.each(["$kept && $kept.b", "$list[0] && $list[-1].b"])(
    "from a place inside another place, %s",
    async (_outputPath) => {
      const steps = [
        [shape, call("set_variable", { name: "list", value: [0] })],
        [call("pass", { v: "$run_code_1", _outputPath })],
      ];
      expect(await toldApart(worlds, { made: steps })).toBe("");
    },
  );

  it.each([
    call("search_variable", { name: "kept", query: "aaa" }),
    call("query_variables", { sql: "SELECT * FROM kept WHERE value = 'aaaaaa'", saveAs: "list" }),
  ])("from $tool on a variable that becomes sealed while it is read", async (reading) => {
    const kept = Array.from({ length: 40_000 }, (_, index) => `${index} ${"x".repeat(30)}`);
    const steps = [
      [made("return Array(60_000).fill(note)")],
      [call("set_variable", { name: "kept", value: "$run_code_1" }), reading],
    ];
    expect(await toldApart(worlds, { made: steps, kept })).toBe("");
  });

  it("from whether a person would have to approve a call with the value", async () => {
    const steps = [
      [call("web", {})],
      [call("set_variable", { name: "kept", value: "$patients[0].name or $web_1" })],
      [call("delegate", { agent: "other", task: "Send it." })],
    ];
    const asked = call("send", { v: "$kept" });
    expect(await toldApart(worlds, { made: steps, asked })).toBe("");
  });

  it.each([
    call("set_variable", { name: "words.a", value: "$patients[0].name[1:3]", mode: "merge" }),
    call("set_variable", { name: "words", value: "$patients[0].name[1:3]", mode: "merge" }),
    call("set_variable", { name: "words.a", value: "$patients[0].name", mode: "append" }),
    call("pass", { v: "$patients[0].name", _outputPath: `$orders[0]${".a".repeat(197)}` }),
    call("pass", {
      v: "$patients[0].name",
      _outputPath: `$orders && $orders[0]${".a".repeat(197)}`,
    }),
  ])("from whether $tool reports a missing part if its result has no place", async (writing) => {
    expect(await toldApart(worlds, { made: [[writing]] })).toBe("");
  });

  it("from whether a call waits for another one of its step", async () => {
    const steps = [
      [
        call("delegate", { agent: "other", task: "Look at $patients[0].name" }),
        call("set_variable", { name: "patients[0].name", value: "$patients" }),
      ],
    ];
    expect(await toldApart(worlds, { made: steps })).toBe("");
  });

  it("from a text that is too long", async () => {
    const content = "{{run_code_1}} and more";
    const steps = [
      [made("return note[0] === 'a' ? 1 : note.repeat(200_000)")],
      [call("variable_interpolate", { content, _outputPath: "$kept" })],
      [call("variable_interpolate", { content })],
    ];
    expect(await toldApart(worlds, { made: steps, isTagged: true })).toBe("");
  });
});
