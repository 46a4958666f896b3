import { describe, expect, it } from "vitest";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approved, planning, planOf, planTools, runOf, variable } from "../../support/planning.ts";
import { finish, text, toolCall } from "../../support/scripted-model.ts";

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

describe("what a waiting run has of its own", () => {
  it("is looked at over HTTP, and not changed", () =>
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

  it("is not changed by a model", async () => {
    const steps: unknown[] = [];
    await withRuntime(planning(planTools(), { steps: steps as never }), async (own) => {
      const { id, name } = await waiting(own);
      await own.call("PUT", `${ROOT}/x`, json(1));
      steps.push(
        [toolCall("set_variable", { name: `${name}.to`, value: "mallory" }), finish("tool-calls")],
        [toolCall("delete_variable", { name }), finish("tool-calls")],
        [text("Done."), finish()],
      );
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      expect(await end(own, id)).toMatchObject({ state: { sent: { to: "alice" } } });
    });
  });

  it("is nothing that an answer refers to", async () => {
    const steps: unknown[] = [];
    await withRuntime(planning(planTools(), { steps: steps as never }), async (own) => {
      const { name } = await waiting(own);
      steps.push([text(`It is $${name}.to`), finish()]);
      const response = await own.call("POST", "/conversations/c/messages", json({ message: "Go" }));
      const said = await response.text();
      expect(said).toContain(name);
      expect(said).not.toContain("alice");
    });
  });

  it("is nothing that a tool of a turn, or of another plan, is given", async () => {
    const steps: unknown[] = [];
    const seen: unknown[] = [];
    await withRuntime(
      planning(planTools(seen as never[]), { steps: steps as never }),
      async (own) => {
        const { name } = await waiting(own);
        steps.push(
          [toolCall("echo", { value: `$${name}.to` }), finish("tool-calls")],
          [text("Done."), finish()],
        );
        await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
        const other = await own.call(
          "POST",
          "/conversations/c/plans",
          json({ calls: [{ _tool: "echo", value: `†${name}.to` }] }),
        );
        if (other.status === 201) {
          const { id } = await other.json<{ id: string }>();
          await own.call("POST", `/conversations/c/plans/${id}/approve`);
          expect((await runOf(own, id)).status).toBe("failed");
        }
        expect(seen).toEqual([`$${name}.to`]);
      },
    );
  });
});
