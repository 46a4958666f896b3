import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../../../src/limits.ts";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  planning,
  planOf,
  planTools,
  runOf,
  streamed,
  variable,
} from "../../../../test/support/planning.ts";
import { slow } from "../../../../test/support/slow.ts";
import { workflows, workflowTools } from "../../../../test/support/workflow-cases.ts";

const ROOT = "/conversations/c/plans";
const SECRET = "hunter2-hunter2";
const ROWS: readonly Json[] = Array.from({ length: 5_000 }, (_, id) => ({ id, at: `row ${id}` }));

type Outputs = Readonly<Record<string, unknown>>;

async function proposed(own: OwnRuntime, type: string, body: string): Promise<string> {
  const init = { body, headers: { "content-type": type } };
  const { id } = await (await own.call("POST", ROOT, init)).json<{ id: string }>();
  await own.call("POST", `${ROOT}/${id}/approve`);
  return id;
}

function outputsIn(calls: readonly { readonly _id: string; readonly output?: unknown }[]): Outputs {
  const known = calls.filter(({ output }) => output !== undefined);
  return Object.fromEntries(known.map(({ _id, output }) => [_id, output]));
}

/** Runs the plan once for each answer format. Returns its outputs, which must be equal in all of them. */
async function outputsOf(own: OwnRuntime, id: string, input: Json = {}): Promise<Outputs> {
  const body = { input, keep: false };
  const outputs = outputsIn((await runOf(own, id, body)).calls);
  const run = (accept: string) => own.call("POST", `${ROOT}/${id}/run`, json(body, { accept }));
  const inText = (await (await run("text/plain")).text())
    .split("\n")
    .flatMap((line) => [/^(\S+): done → (.+)$/u.exec(line) ?? []])
    .flatMap(([, call, output]) => (call === undefined ? [] : [[call, JSON.parse(output ?? "")]]));
  expect(Object.fromEntries(inText)).toEqual(outputs);
  const parts = await streamed(await run("text/event-stream"));
  const inParts = parts.flatMap(({ call, output }) =>
    output === undefined ? [] : [[call, output]],
  );
  expect(Object.fromEntries(inParts)).toEqual(outputs);
  expect(parts.at(-1)).toMatchObject({ type: "data-run", outputs });
  const { runs } = await planOf(own, id);
  for (const { calls } of runs.slice(-3)) expect(outputsIn(calls)).toEqual(outputs);
  return outputs;
}

describe("the outputs of the workflows of the specification", () => {
  it.each(workflows())("$name: in JSON, in text and in the stream", ({ type, text, saved, runs }) =>
    withRuntime(planning(workflowTools), async (own) => {
      for (const [name, value] of Object.entries(saved)) {
        await own.call("PUT", `/conversations/c/variables/${name}`, json(value));
      }
      const id = await proposed(own, type, text);
      for (const { input, outputs } of runs) {
        const { calls } = await planOf(own, id);
        const found = await outputsOf(own, id, input);
        expect(calls.map(({ _id }) => found[_id])).toEqual(outputs);
      }
    }),
  );
});

const give = (value: Json) => tool({ inputSchema: z.object({}), execute: () => value });

describe("a long output", () => {
  const tools: ToolSet = { ...planTools(), rows: give(ROWS), note: give("n".repeat(2_000)) };
  const calls = [
    { _id: "list", _tool: "rows", _outputPath: "†state.rows" },
    { _id: "count", _tool: "add", a: 1, b: 2, _outputPath: "†state.three" },
    { _id: "loose", _tool: "note" },
  ];

  it("is a handle of a variable <plan>_<call>, readable when the run's variables are gone", () =>
    withRuntime(planning(tools), async (own) => {
      const id = await approved(own, calls, { name: "Daily list" });
      const { calls: ended } = await runOf(own, id, { keep: false });
      expect(outputsIn(ended)).toEqual({
        list: expect.objectContaining({ $var: "Daily_list_list", type: "array", count: 5_000 }),
        count: 3,
        loose: expect.objectContaining({ $var: "Daily_list_loose", type: "string", count: 2_000 }),
      });
      expect(await variable(own, "state")).toBe(404);
      expect(await variable(own, "Daily_list_list")).toEqual(ROWS);
      expect(await variable(own, "Daily_list_loose")).toBe("n".repeat(2_000));
      // A second run does not overwrite the variable.
      const again = outputsIn((await runOf(own, id, { keep: false })).calls);
      expect(again["list"]).not.toMatchObject({ $var: "Daily_list_list" });
      expect(await variable(own, "Daily_list_list")).toEqual(ROWS);
    }));

  it("is kept as long as its run, and no tool's result deletes another variable", slow, () =>
    withRuntime(planning({ ...tools, lie: give({ $var: "mine" }) }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/mine", json("mine"));
      const id = await approved(own, [
        { _id: "list", _tool: "note" },
        { _id: "taken", _tool: "note" },
        { _id: "lie", _tool: "lie" },
      ]);
      const { id: first } = await runOf(own, id, { keep: false });
      // From now on a client owns the variable.
      await own.call("PUT", "/conversations/c/variables/plan_taken", json("mine"));
      for (let run = 1; run < limits.maxPlanRuns; run++) await runOf(own, id, { keep: false });
      const keeperOf = async (name: string) => {
        const info = await own.call("GET", `/conversations/c/variables/${name}/info`);
        return (await info.json<{ toolCallId: string }>()).toolCallId;
      };
      expect(await keeperOf("plan_list")).toBe(`${first}/list`);
      const last = await runOf(own, id, { keep: false });
      // The variable was deleted with the first run, so its name was free again.
      expect(await keeperOf("plan_list")).toBe(`${last.id}/list`);
      expect(await variable(own, "plan_taken")).toBe("mine");
      expect(await variable(own, "mine")).toBe("mine");
    }),
  );
});

describe("a guarded output", () => {
  const long = SECRET.repeat(200);
  const tools: ToolSet = {
    ...planTools(),
    vault: give(SECRET),
    large: give(long),
    broken: tool({
      inputSchema: z.object({ value: z.any() }),
      execute: ({ value }): string => {
        throw new Error(`no ${String(value)}`);
      },
    }),
  };
  const policies = {
    vault: { sealed: true },
    large: { sealed: true },
    echo: { secrets: ["key"] },
  };

  it("is shown as its name and visibility, whatever its size and the format", () =>
    withRuntime(planning(tools, { agent: { policies } }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/key?visibility=secret", json(SECRET));
      const id = await approved(own, [
        { _id: "small", _tool: "vault", _outputPath: "†small" },
        { _id: "large", _tool: "large", _outputPath: "†large" },
        { _id: "derived", _tool: "echo", value: "†key" },
        { _id: "loose", _tool: "vault" },
        { _id: "broken", _tool: "broken", value: "†small" },
      ]);
      for (const accept of ["text/plain", "text/event-stream", "application/json"]) {
        const init = json({ keep: false }, { accept });
        const all = await (await own.call("POST", `${ROOT}/${id}/run`, init)).text();
        // Users may read sealed values where variables are shown.
        const said = all.replaceAll(/^data: \{"type":"data-variable".*$/gmu, "");
        expect(said).toContain("plan_small");
        expect(said).not.toContain("hunter2");
        expect(said).not.toMatch(/"(?:bytes|count|shape|preview)"/u);
      }
      const [run] = (await planOf(own, id)).runs;
      expect(outputsIn(run?.calls ?? [])).toEqual({
        small: { $var: "plan_small", visibility: "sealed" },
        large: { $var: "plan_large", visibility: "sealed" },
        derived: { $var: "plan_derived", visibility: "secret" },
        loose: { $var: "plan_loose", visibility: "sealed" },
      });
      const info = await own.call("GET", "/conversations/c/variables/plan_derived/info");
      expect(await info.json()).toMatchObject({ visibility: "secret" });
      expect(await variable(own, "plan_derived")).toBe(403);
    }));

  it("is any output that is written into a sealed variable", () =>
    withRuntime(planning(tools), async (own) => {
      await own.call("PUT", "/conversations/c/variables/box?visibility=sealed", json({ a: 1 }));
      const id = await approved(own, [
        { _id: "in", _tool: "echo", value: "plain", _outputPath: "†box.b" },
      ]);
      const { calls } = await runOf(own, id);
      expect(calls[0]?.output).toEqual({ $var: "plan_in", visibility: "sealed" });
      const info = await own.call("GET", "/conversations/c/variables/plan_in/info");
      expect(await info.json()).toMatchObject({ visibility: "sealed" });
    }));
});
