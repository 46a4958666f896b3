import { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { startGateway } from "../support/gateway.ts";

/** A shop whose tools take the same input, and a client that answers for the person. */
async function openShop() {
  const ran: string[] = [];
  const make = () => {
    const server = new McpServer({ name: "shop", version: "1" });
    for (const name of ["show_order", "delete_order"]) {
      server.registerTool(name, { inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
        ran.push(`${name} ${id}`);
        return { content: [{ type: "text", text: "done" }] };
      });
    }
    return server;
  };
  const { client } = await startGateway([{ name: "shop", make, rules: { approval: true } }], {
    era: "modern",
    capabilities: { elicitation: { form: {} } },
    isManual: true,
  });
  const call = (name: string, id: string, round: object = {}) =>
    client.request(
      { method: "tools/call", params: { name, arguments: { id }, ...round } },
      { allowInputRequired: true },
    ) as Promise<Record<string, unknown>>;
  return { ran, call };
}

const accept = { approve: { action: "accept", content: {} } };

it("an approval is for one tool: another one with the same input asks again", async () => {
  const { ran, call } = await openShop();
  const { requestState } = await call("show_order", "o1");
  const round = { inputResponses: accept, requestState };
  expect(await call("delete_order", "o1", round)).toMatchObject({ resultType: "input_required" });
  expect(ran).toEqual([]);
  expect(await call("show_order", "o1", round)).toMatchObject({ content: [{ text: "done" }] });
  expect(ran).toEqual(["show_order o1"]);
});

it("an approval counts once", async () => {
  const { ran, call } = await openShop();
  const { requestState } = await call("delete_order", "o1");
  const round = { inputResponses: accept, requestState };
  const both = await Promise.all([
    call("delete_order", "o1", round),
    call("delete_order", "o1", round),
  ]);
  expect(both.filter(({ resultType }) => resultType === "input_required")).toHaveLength(1);
  expect(await call("delete_order", "o1", round)).toMatchObject({ resultType: "input_required" });
  expect(ran).toEqual(["delete_order o1"]);
});
