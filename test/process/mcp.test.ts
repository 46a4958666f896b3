import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/value/json.ts";
import {
  type ChatCompletions,
  type ChatStep,
  startChatCompletions,
} from "../support/chat-completions.ts";
import {
  failure,
  type RunningMcpServer,
  startMcpServer,
  structured,
  textResult,
} from "../support/mcp-server.ts";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { chunksIn, post, textIn } from "../support/turn-client.ts";

const token = "Bearer mcp-0123456789-never-to-be-seen";
let endpoint: ChatCompletions;
let shop: RunningMcpServer;
let mail: RunningMcpServer;
/** A server that accepts requests and never answers them. */
let silent: RunningMcpServer;
let server: WorkerServer;
let conversation: string;
let count = 0;

const order = {
  id: 7,
  lines: [
    { sku: "A", quantity: 2 },
    { sku: "B", quantity: 40 },
  ],
};

beforeAll(async () => {
  endpoint = await startChatCompletions();
  shop = await startMcpServer(
    [
      { name: "get_order", answer: () => structured(order), annotations: { readOnlyHint: true } },
      { name: "list", answer: () => textResult("[1, 2]") },
      { name: "refuse", answer: () => failure("No such order.") },
      {
        name: "draw",
        answer: () => ({ content: [{ type: "image", data: "AAEC/w==", mimeType: "image/png" }] }),
      },
      { name: "wait", answer: () => new Promise<never>(() => undefined) },
      { name: "run_code", answer: () => textResult("not the runtime's own") },
      { name: "get_weather", answer: () => textResult("not the agent's own") },
    ],
    { sessions: true },
  );
  mail = await startMcpServer([
    { name: "send_mail", answer: (input) => textResult(`sent ${String(input.subject)}`) },
    { name: "list", answer: () => textResult("[3]") },
  ]);
  silent = await startMcpServer();
  silent.intercept(() => true);
  server = await startWorkerServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MCP_SERVERS: JSON.stringify([
      {
        name: "shop",
        url: shop.url,
        headers: { authorization: token },
        tools: { "get_*": { trusted: true } },
      },
      { name: "mail", url: mail.url, agents: ["weather"] },
      { name: "silent", url: silent.url },
      { name: "nowhere", url: "http://127.0.0.1:9/mcp?key=mcp-0123456789" },
    ]),
  });
});

afterAll(async () => {
  await server?.stop();
  await Promise.all([endpoint?.down(), shop?.down(), mail?.down(), silent?.down()]);
});

beforeEach(() => {
  conversation = `${server.url}/conversations/mcp-${++count}`;
  for (const { calls } of [shop, mail]) calls.length = 0;
});

const calls = (...list: readonly (readonly [string, JsonObject])[]): ChatStep => ({
  kind: "calls",
  calls: list.map(([name, input]) => ({ name, input })),
});

async function play(script: readonly ChatStep[], agent?: string) {
  endpoint.play(script);
  const response = await post(conversation, "Go.", agent === undefined ? {} : { agent });
  return chunksIn(await response.text());
}

const offered = () => endpoint.requests[0]?.body.tools.map((tool) => tool.function.name);

describe("a turn with tools of MCP servers", () => {
  it("offers them beside the agent's own, and prefixes equal names with their server's", async () => {
    await play([{ kind: "text", text: "Hello." }]);
    expect(offered()).toEqual([
      "get_weather",
      "compare_weather",
      "get_order",
      "shop_list",
      "refuse",
      "draw",
      "wait",
      "shop_run_code",
      "shop_get_weather",
      "send_mail",
      "mail_list",
      "set_variable",
      "run_code",
      "propose_plan",
    ]);
  });

  it("sends the headers, and reveals them nowhere", async () => {
    const chunks = await play([calls(["get_order", { id: 1 }]), { kind: "text", text: "Done." }]);
    expect(shop.requests.at(-1)?.headers.authorization).toBe(token);
    expect(JSON.stringify(chunks)).not.toContain("mcp-0123456789");
    expect(server.output()).not.toContain("mcp-0123456789");
  });
});

describe("when a server goes down", () => {
  afterEach(async () => {
    await mail.up();
  });

  it("its call fails but the turn continues, and the next turn omits its tools", async () => {
    await play([{ kind: "text", text: "Hello." }]);
    expect(offered()).toContain("send_mail");
    await mail.down();
    const chunks = await play([
      calls(["send_mail", { subject: "x" }], ["get_order", { id: 1 }]),
      { kind: "text", text: "$get_order_1.id of them." },
    ]);
    expect(chunks.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["tool-output-error", "tool-output-available", "finish"]),
    );
    expect(textIn(chunks)).toBe("7 of them.");
    await play([{ kind: "text", text: "Hello." }]);
    expect(offered()).toContain("get_order");
    expect(offered()).not.toContain("send_mail");
  });
});
