import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { startGateway } from "../../../test/support/gateway.ts";

const TOOLS = ["show_order", "delete_order"];

/** Starts a shop whose tools take the same input, and a client that answers in place of a person. */
async function openShop() {
  const ran: string[] = [];
  const make = () => {
    const server = new McpServer({ name: "shop", version: "1" });
    for (const name of TOOLS) {
      server.registerTool(name, { inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
        ran.push(`${name} ${id}`);
        return { content: [{ type: "text", text: "done" }] };
      });
    }
    return server;
  };
  const approval = Object.fromEntries(TOOLS.map((name) => [name, { approval: true }]));
  const behind = [{ name: "shop", make, rules: { tools: approval } }];
  const { client, store } = await startGateway(behind, {
    era: "modern",
    capabilities: { elicitation: { form: {} } },
    isManual: true,
  });
  await store.save({ name: "order", value: "o1" });
  const call = (name: string, input: object | string, round: object = {}) =>
    client.request(
      {
        method: "tools/call",
        params: {
          name,
          arguments: typeof input === "string" ? { id: input } : { ...input },
          ...round,
        },
      },
      { allowInputRequired: true },
    ) as Promise<Record<string, unknown>>;
  return { ran, call, store };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

const accept = { approve: { action: "accept", content: {} } };

/** Changes between the question and the answer, each with the call that sends the answer. */
const CHANGES: readonly (readonly [string, (shop: Shop, state: unknown) => Promise<unknown>])[] = [
  [
    "its variable was saved with another value",
    async ({ store, call }, requestState) => {
      await store.save({ name: "order", value: "o2" });
      return call("delete_order", "$order", { inputResponses: accept, requestState });
    },
  ],
  [
    "the model has edited its variable",
    async ({ call }, requestState) => {
      const edits = [{ find: "o1", replace: "o2" }];
      const edited = await call("edit_variable", { name: "order", edits, replace: true });
      const round = { inputResponses: accept, requestState };
      const name = /"\$var":"(\w+)"/u.exec(JSON.stringify(edited).replaceAll("\\", ""))?.[1];
      return call("delete_order", `$${name ?? "order"}`, round);
    },
  ],
  [
    "its variable was deleted and its name reused",
    async ({ store, call }, requestState) => {
      store.delete("order");
      await store.save({ name: "order", value: ["o2"] });
      return call("delete_order", "$order[0]", { inputResponses: accept, requestState });
    },
  ],
  [
    "the client writes another value",
    ({ call }, requestState) =>
      call("delete_order", "o2", { inputResponses: accept, requestState }),
  ],
  [
    "the client adds to the value",
    ({ call }, requestState) =>
      call("delete_order", "$order,o2", { inputResponses: accept, requestState }),
  ],
  [
    "the answer is for another tool",
    ({ call }, requestState) =>
      call("show_order", "$order", { inputResponses: accept, requestState }),
  ],
  [
    "the answer is for another call",
    async ({ call }) => {
      const { requestState } = await call("delete_order", "o2");
      return call("delete_order", "$order", { inputResponses: accept, requestState });
    },
  ],
  [
    "the client answers a question that was not asked",
    ({ call }) => call("delete_order", "$order", { inputResponses: accept }),
  ],
];

describe("an approval", () => {
  it.each(CHANGES)("does not count if %s", async (_what, change) => {
    const shop = await openShop();
    const { requestState } = await shop.call("delete_order", "$order");
    const answer = await change(shop, requestState);
    expect(shop.ran).toEqual([]);
    expect(answer).toMatchObject({ resultType: "input_required" });
  });

  it("of a value counts for a reference to the same value, and vice versa", async () => {
    const { ran, call } = await openShop();
    const first = await call("delete_order", "$order");
    const round = ({ requestState }: typeof first) => ({ inputResponses: accept, requestState });
    await call("delete_order", "o1", round(first));
    await call("delete_order", "$order", round(await call("delete_order", "o1")));
    expect(ran).toEqual(["delete_order o1", "delete_order o1"]);
  });

  it("is for one tool: another tool with the same input asks again", async () => {
    const { ran, call } = await openShop();
    const { requestState } = await call("show_order", "o1");
    const round = { inputResponses: accept, requestState };
    expect(await call("delete_order", "o1", round)).toMatchObject({ resultType: "input_required" });
    expect(ran).toEqual([]);
    expect(await call("show_order", "o1", round)).toMatchObject({ content: [{ text: "done" }] });
    expect(ran).toEqual(["show_order o1"]);
  });

  it("counts once", async () => {
    const { ran, call } = await openShop();
    const { requestState } = await call("delete_order", "o1");
    const round = { inputResponses: accept, requestState };
    const both = await Promise.all([
      call("delete_order", "o1", round),
      call("delete_order", "o1", round),
    ]);
    const asked = both.filter(({ resultType }) => resultType === "input_required");
    const last = await call("delete_order", "o1", round);
    expect(asked).toHaveLength(1);
    expect(last).toMatchObject({ resultType: "input_required" });
    expect(ran).toEqual(["delete_order o1"]);
  });
});
