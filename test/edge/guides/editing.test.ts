import { tool } from "ai";
import { createRuntime, queries } from "byref";
import { createClient } from "byref/client";
import { expect, it } from "vitest";
import * as z from "zod";
import { sendTo } from "../../support/client.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";

const invoices = Array.from({ length: 2_000 }, (_, id) => ({
  id,
  due: `2026-${String(1 + (id % 12)).padStart(2, "0")}-15`,
  paid: id % 3 === 0,
}));

it("sets columns in the records that a condition finds", async () => {
  const saved: unknown[] = [];
  const list_invoices = tool({ inputSchema: z.object({}), execute: () => invoices });
  const save_invoices = tool({
    inputSchema: z.object({ invoices: z.array(z.unknown()) }),
    execute: ({ invoices: all }) => {
      saved.push(all);
      return all.length;
    },
  });
  // --- records
  const marking = toolCall("edit_variable", {
    name: "list_invoices_1",
    edits: [{ where: "due < $today AND NOT paid", set: { status: "late", fee: "$fees.late" } }],
  });
  // ---
  const agent = {
    name: "clerk",
    description: "Invoices.",
    instructions: "Help.",
    tools: { list_invoices, save_invoices },
  };
  const model = scriptedModel([
    [toolCall("list_invoices", {}), finish("tool-calls")],
    [marking, finish("tool-calls")],
    [toolCall("save_invoices", { invoices: "$list_invoices_1" }), finish("tool-calls")],
    [text("Done."), finish()],
  ]);
  await withWorker(createRuntime({ agents: [agent], model, queries }), async (own) => {
    const chat = createClient(ORIGIN, { fetch: sendTo(own as OwnRuntime) }).conversation("guide");
    await chat.variables.put("today", "2026-07-01");
    await chat.variables.put("fees", { late: 12.5 });
    expect(await chat.send("Mark what is late.").text()).toBe("Done.");
    const late = { status: "late", fee: 12.5 };
    const expected = invoices.map((one) =>
      one.due < "2026-07-01" && !one.paid ? { ...one, ...late } : one,
    );
    expect(saved).toEqual([expected]);
    const [, , { prompt } = { prompt: [] }] = model.calls;
    expect(JSON.stringify(prompt)).toContain('+    \\"status\\": \\"late\\",');
  });
});
