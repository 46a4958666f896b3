import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { VariableInfo } from "../../../../src/store/variable.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  decide,
  planning,
  planOf,
  planTools,
  runOf,
  statusesOf,
  variable,
} from "../../../../test/support/planning.ts";

const ROOT = "/conversations/c/plans";
const STATE = "/conversations/c/variables/state";

const read = (value: unknown, _outputPath = "†state.copy") => ({
  _tool: "echo",
  _id: "read",
  value,
  _outputPath,
});
const write = (value: unknown, _outputPath: string) => ({
  _tool: "echo",
  _id: "write",
  value,
  _outputPath,
});

describe("the state of earlier plans", () => {
  it("is read where no call writes; the run's own writes win", async () => {
    await withRuntime(planning(), async (own) => {
      await runOf(own, await approved(own, [write({ name: "Ada" }, "†state.user")]));
      await runOf(own, await approved(own, [write(2, "†state.count")]));
      const run = await runOf(
        own,
        await approved(own, [
          read({ name: "†state.user.name", text: "of †state.user.name", count: "†state.count" }),
          write(9, "†state.count"),
        ]),
      );
      const copy = { name: "Ada", text: "of Ada", count: 9 };
      expect(run.state).toEqual({ copy, count: 9 });
      expect(await variable(own, "state")).toEqual({ user: { name: "Ada" }, copy, count: 9 });
    });
  });

  it("does not replace the result of a failed call", async () => {
    await withRuntime(planning(), async (own) => {
      await own.call("PUT", STATE, json({ count: 2 }));
      const id = await approved(own, [
        { _tool: "fail", _id: "write", _outputPath: "†state.count" },
        read("†state.count"),
      ]);
      await runOf(own, id);
      expect(statusesOf(await planOf(own, id))).toEqual({ write: "failed", read: "skipped" });
    });
  });

  it("is listed in the finding if the value is missing, except the keys of a sealed one", async () => {
    await withRuntime(planning(), async (own) => {
      const messages = async (value: string) => {
        const response = await own.call("POST", ROOT, json({ calls: [read(value)] }));
        if (response.status === 201) return [];
        const { findings } = await response.json<{ findings: { message: string }[] }>();
        return findings.map(({ message }) => message);
      };
      const missing = "Nothing writes †state.user.age, and the conversation";
      const advice = 'Give the call that makes it _outputPath "†state.user.age".';
      expect(await messages("†state.user.age")).toEqual([`${missing} has no state. ${advice}`]);
      await own.call("PUT", STATE, json({ user: { name: "Ada", id: 1 } }));
      expect(await messages("†state.user.age")).toEqual([
        `${missing}'s state.user holds name, id. ${advice}`,
      ]);
      expect(await messages("†state.user")).toEqual([]);
      expect(await messages("†state.user.age || †state.user.id")).toEqual([]);
    });
  });

  it("keeps its labels, and a sealed one reveals no keys", async () => {
    const hidden = tool({ inputSchema: z.object({}), execute: () => ({ key: "k" }) });
    const agent = { policies: { hidden: { sealed: true } } };
    await withRuntime(planning({ ...planTools(), hidden }, { agent }), async (own) => {
      await runOf(own, await approved(own, [{ _tool: "hidden", _outputPath: "†state" }]));
      const calls = [
        read("†state.key", "†echoed"),
        { _tool: "set_variable", _id: "set", name: "kept", value: "†state.key" },
        { _tool: "set_variable", _id: "or", name: "other", value: "†state.none || †state.key" },
      ];
      const id = await approved(own, calls);
      await runOf(own, id);
      expect(statusesOf(await planOf(own, id))).toEqual({ read: "done", set: "done", or: "done" });
      const listed = await own.call("GET", "/conversations/c/variables");
      const { variables } = await listed.json<{ variables: VariableInfo[] }>();
      const labels = variables.map(({ name, visibility }) => [name, visibility]);
      const sealed = ["echoed", "kept", "other"].map((name) => [name, "sealed"]);
      expect(labels).toEqual(expect.arrayContaining(sealed));
      const response = await own.call("POST", ROOT, json({ calls: [read("†state.nothing")] }));
      expect(response.status).toBe(201);
    });
  });
});

it("a waiting run's own variables can be read over HTTP, but not changed", () =>
  withRuntime(planning(), async (own) => {
    const value = { to: "†input.to", ok: "†approvals.legal" };
    const id = await approved(own, [{ _tool: "echo", value, _outputPath: "†state.x" }]);
    const run = await runOf(own, id, { input: { to: "alice" } });
    const name = `input_${run.id}`;
    const at = `/conversations/c/variables/${name}`;
    expect(await variable(own, name)).toEqual({ to: "alice" });
    for (const query of ["", "?mode=merge", "?mode=new"]) {
      const put = await own.call("PUT", `${at}${query}`, json({ to: "mallory" }));
      await problemIn(put, "conflict");
    }
    const patch = await own.call("PATCH", at, json({ pinned: true }));
    await problemIn(patch, "variable_not_found");
    await problemIn(await own.call("DELETE", at), "variable_not_found");
    await (await decide(own, "legal", { approved: true })).text();
    const [ended] = (await planOf(own, id)).runs;
    expect(ended).toMatchObject({ status: "done", state: { x: { to: "alice" } } });
  }));
