import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  APPROVAL_CASES,
  CHANGED_CASES,
  type ApprovalHost,
  FIRST,
  play,
} from "../../../test/contract/approval-cases.ts";
import { NodeSql } from "../../../test/support/node-sql.ts";
import { parsedJson } from "../../../src/value/json.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { GatewayState } from "../src/gateway-state.ts";
import type { ToolOffer } from "../src/configuration.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { changedFields } from "../src/gateway.ts";
import { questionAbout } from "../src/gateway-server.ts";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";

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
  const call = (name: string, input: object | string, round: object = {}) => {
    const given = typeof input === "string" ? { id: input } : { ...input };
    const params = { name, arguments: given, ...round };
    const asked = client.request({ method: "tools/call", params }, { allowInputRequired: true });
    return asked as Promise<Record<string, unknown>>;
  };
  return { ran, call, store };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

const accept = { approve: { action: "accept", content: {} } };

/** Changes between the question and the answer, each with the call that sends the answer. */
const CHANGES: readonly (readonly [string, (shop: Shop, state: unknown) => Promise<unknown>])[] = [
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

describe.each(["list", "search"] as const)("an approval, tools: %s", (tools) => {
  it.each(CHANGES)("does not count if %s", async (_what, change) => {
    const shop = await openShop({ tools });
    const { requestState } = await shop.call("delete_order", "$order");
    const answer = await change(shop, requestState);
    expect(shop.ran).toEqual([]);
    expect(answer).toMatchObject({ resultType: "input_required" });
  });

  it("of a value counts for a reference to the same value, and vice versa", async () => {
    const { ran, call } = await openShop({ tools });
    const first = await call("delete_order", "$order");
    const round = ({ requestState }: typeof first) => ({ inputResponses: accept, requestState });
    await call("delete_order", "o1", round(first));
    await call("delete_order", "$order", round(await call("delete_order", "o1")));
    expect(ran).toEqual(["delete_order o1", "delete_order o1"]);
  });

  it("is for one tool: another tool with the same input asks again", async () => {
    const { ran, call } = await openShop({ tools });
    const { requestState } = await call("show_order", "o1");
    const round = { inputResponses: accept, requestState };
    expect(await call("delete_order", "o1", round)).toMatchObject({ resultType: "input_required" });
    expect(ran).toEqual([]);
    expect(await call("show_order", "o1", round)).toMatchObject({ content: [{ text: "done" }] });
    expect(ran).toEqual(["show_order o1"]);
  });

  it("has no field for a number that the form would round", async () => {
    const { call, store } = await openShop({ tools });
    await store.save({ name: "long", value: parsedJson("12345678901234567") });
    const asked = await call("delete_order", { id: "o1", n: 3, long: "$long" });
    const text = JSON.stringify(asked.inputRequests);
    expect(text.match(/"(?:id|n|long)":\{/gu)).toEqual(['"id":{', '"n":{']);
    expect(text).toContain("12345678901234567");
  });

  it.each([
    ["sealed value, which the model would read", "o1\n", "sealed"],
    ["value in which a reference would be read", "o1 $order\n", "model"],
  ] as const)("has no field for a %s if a person changed it", async (_what, value, visibility) => {
    const { ran, call, store } = await openShop({ tools });
    await store.save({ name: "card", value, visibility });
    const asked = await call("delete_order", { id: "$card", n: 3 });
    expect(JSON.stringify(asked.inputRequests).match(/"(?:id|n)":\{/gu)).toEqual(['"n":{']);
    const inputResponses = { approve: { action: "accept", content: { id: value.trim(), n: 4 } } };
    const { requestState } = asked;
    const result = await call(
      "delete_order",
      { id: "$card", n: 3 },
      { inputResponses, requestState },
    );
    expect(JSON.stringify(result).includes("o1")).toBe(visibility === "model");
    expect(ran).toEqual([`delete_order ${value}`]);
  });

  it.each([...APPROVAL_CASES, ...CHANGED_CASES])("%s", async (_rule, acts, values) => {
    const ran: string[] = [];
    await play(await openHost(ran, tools), acts);
    expect(ran).toEqual(values.map((value) => `delete_order ${value}`));
  });
});

/** A client that calls again with its answer, and gateways that share a database, one after the other. */
async function openHost(ran: string[], tools: ToolOffer): Promise<ApprovalHost> {
  const sql = new NodeSql();
  const store = new MemoryStore();
  const open = () => openShop({ store, tools, state: new GatewayState(sql) });
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
    answer: (requestState, isApproved, value) => {
      // Clients send what the form has. Numbers are texts here. A server checks them; the gateway, references.
      const texts = { $sum: "$order", much: "$order.none" };
      const id = value === undefined ? undefined : (texts[value as "much"] ?? String(value));
      const content = id === undefined ? {} : { id };
      const answers = {
        approve: isApproved ? { action: "accept", content } : { action: "decline" },
      };
      return call({ inputResponses: answers, requestState });
    },
    restart: async () => {
      const value = await store.read("order");
      shop = await open();
      await save(Number(value));
    },
  };
}

describe("a person's answer", () => {
  it.each([
    ["declines the call", { approve: { action: "decline" } }, "tool_denied"],
    ["is cancelled, which declines the call", { approve: { action: "cancel" } }, "tool_denied"],
    ["is missing", undefined, "input_required"],
    ["is an answer to another question", { other: accept.approve }, "input_required"],
    ["is of another kind", { approve: { roots: [] } }, "input_required"],
    ["comes without the state of the question", accept, "input_required"],
  ])("%s", async (_what, inputResponses, outcome) => {
    const { ran, call } = await openShop();
    const { requestState } = await call("delete_order", "o1");
    const state = inputResponses === accept ? {} : { requestState };
    const answer = await call("delete_order", "o1", { inputResponses, ...state });
    expect(JSON.stringify(answer)).toContain(outcome);
    expect(ran).toEqual([]);
  });

  it.each([
    [
      { n: 5, b: true, t: "b" },
      { n: 5, b: true, t: "b" },
    ],
    [
      { n: "5", b: "true", t: "7" },
      { n: 5, b: true, t: "7" },
    ],
    [
      { n: "5,00", b: 1, t: 7 },
      { n: "5,00", b: 1, t: 7 },
    ],
    [{ n: "", b: null, more: 1 }, {}],
  ])("with the fields %j changes %j", (content, changed) => {
    expect(changedFields({ n: 1, b: false, t: "a" }, content)).toEqual(changed);
  });
});

describe("the question about a call", () => {
  const edited = (name: string, more: Partial<VariableDiff>) => ({ name, version: 2, ...more });

  it.each<[string, readonly VariableDiff[]]>([
    [
      "$a was edited from $b, version 1:\n  -x\n+y\n\n$c was edited:\n-1\n+2",
      [
        edited("a", { from: { name: "b", version: 1 }, diff: "  -x\n+y\n" }),
        edited("c", { diff: "-1\n+2\n" }),
      ],
    ],
    ["$a was edited:\n-x\n+y\n… (+7 lines)", [edited("a", { diff: "-x\n+y\n", more: 7 })]],
    ["$a was edited: the change is sealed.", [edited("a", { withheld: "sealed" })]],
    ["$a was edited: the value before is not kept.", [edited("a", {})]],
  ])("shows before the input: %s", (shown, diffs) => {
    const approval = { reason: "It pays.", input: '{"to":"a"}', diffs } as ApprovalRequest;
    const needed = { kind: "approval", fields: {}, approval, question: "q" } as const;
    expect(questionAbout("pay", needed)).toBe(`Run pay? It pays.\n\n${shown}\n\n{"to":"a"}`);
  });
});
