import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  planning,
  planOf,
  planTools,
  runOf,
  variable,
} from "../../../../test/support/planning.ts";

const ROOT = "/conversations/c/plans";
const SECRET = "hunter2-hunter2";

const give = (value: Json) => tool({ inputSchema: z.object({}), execute: () => value });

function outputsIn(calls: readonly { readonly _id: string; readonly output?: unknown }[]) {
  const known = calls.filter(({ output }) => output !== undefined);
  return Object.fromEntries(known.map(({ _id, output }) => [_id, output]));
}

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
