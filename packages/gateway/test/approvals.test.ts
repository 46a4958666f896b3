import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  APPROVAL_CASES,
  type ApprovalHost,
  FIRST,
  play,
} from "../../../test/contract/approval-cases.ts";
import { NodeSql } from "../../../test/support/node-sql.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { GatewayState } from "../src/gateway-state.ts";
import { startGateway } from "../../../test/support/gateway.ts";

const TOOLS = ["show_order", "delete_order"];

/** Starts a shop whose tools take the same input, and a client that answers in place of a person. */
async function openShop(kept: Parameters<typeof startGateway>[1] = {}) {
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
    ...kept,
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
    "the answer is for another call",
    async ({ call }) => {
      const { requestState } = await call("delete_order", "o2");
      return call("delete_order", "$order", { inputResponses: accept, requestState });
    },
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

  it.each(APPROVAL_CASES)("%s", async (_rule, acts, values) => {
    const ran: string[] = [];
    await play(await openHost(ran), acts);
    expect(ran).toEqual(values.map((value) => `delete_order ${value}`));
  });
});

/** A client that calls again with its answer, and gateways that share a database, one after the other. */
async function openHost(ran: string[]): Promise<ApprovalHost> {
  const sql = new NodeSql();
  const store = new MemoryStore();
  const key = new Uint8Array(32).fill(7);
  const owner = { id: "", isAlive: () => true };
  const open = () => {
    const { approvals } = new GatewayState(sql, { owner, log: () => {}, onTaint: () => {} });
    return openShop({ store, serving: { key, approvals } });
  };
  let shop = await open();
  const save = (value: number) => store.save({ name: "order", value: String(value) });
  const call = async (round?: object) => {
    const { requestState } = await shop.call("delete_order", "$order", round);
    ran.push(...shop.ran.splice(0));
    return requestState as string | undefined;
  };
  await save(FIRST);
  return {
    save,
    ask: () => call(),
    answer: (requestState, isApproved) => {
      const answers = isApproved ? accept : { approve: { action: "decline" } };
      return call({ inputResponses: answers, requestState });
    },
    restart: async () => {
      const value = await store.read("order");
      shop = await open();
      await save(Number(value));
    },
  };
}
