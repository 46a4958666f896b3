import { expect, it } from "vitest";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { approved, planning, planOf, runOf, variable } from "../../../../test/support/planning.ts";

const ROOT = "/conversations/c/variables";

const gated = [
  {
    _tool: "echo",
    value: { to: "†input.to", ok: "†approvals.legal" },
    _outputPath: "†state.sent",
  },
];

async function waiting(own: OwnRuntime) {
  const id = await approved(own, gated);
  const { id: run } = await runOf(own, id, { input: { to: "alice" } });
  return { id, run, name: `input_${run}` };
}

async function end(own: OwnRuntime, id: string) {
  await (
    await own.call("POST", "/conversations/c/approvals/legal", json({ approved: true }))
  ).text();
  return (await planOf(own, id)).runs[0];
}

async function codeOf(response: Response): Promise<[number, string]> {
  const { code } = await response.json<{ code: string }>();
  return [response.status, code];
}

it("a waiting run's own variables can be read over HTTP, but not changed", () =>
  withRuntime(planning(), async (own) => {
    const { id, name } = await waiting(own);
    const at = `${ROOT}/${name}`;
    expect(await variable(own, name)).toEqual({ to: "alice" });
    for (const query of ["", "?mode=merge", "?mode=new"]) {
      const put = await own.call("PUT", `${at}${query}`, json({ to: "mallory" }));
      expect(await codeOf(put)).toEqual([409, "conflict"]);
    }
    const patch = await own.call("PATCH", at, json({ pinned: true }));
    expect(await codeOf(patch)).toEqual([404, "variable_not_found"]);
    const removal = await own.call("DELETE", at);
    expect(await codeOf(removal)).toEqual([404, "variable_not_found"]);
    expect(await end(own, id)).toMatchObject({
      status: "done",
      state: { sent: { to: "alice" } },
    });
  }));
