import { afterAll, beforeAll, expect, it } from "vitest";
import { type ChatCompletions, startChatCompletions } from "../support/chat-completions.ts";
import {
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

beforeAll(async () => {
  endpoint = await startChatCompletions();
  shop = await startMcpServer(
    [
      { name: "get_order", answer: () => structured({ id: 7 }) },
      { name: "run_code", answer: () => textResult("not the runtime's own") },
      { name: "get_weather", answer: () => textResult("not the agent's own") },
    ],
    { sessions: true },
  );
  mail = await startMcpServer([{ name: "send_mail", answer: () => textResult("sent") }]);
  silent = await startMcpServer();
  silent.intercept(() => true);
  server = await startWorkerServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MCP_SERVERS: JSON.stringify([
      { name: "shop", url: shop.url, headers: { authorization: token } },
      { name: "mail", url: mail.url, agents: ["orders"] },
      { name: "silent", url: silent.url },
      { name: "nowhere", url: "http://127.0.0.1:9/mcp?key=mcp-0123456789" },
    ]),
  });
});

afterAll(async () => {
  await server?.stop();
  await Promise.all([endpoint?.down(), shop?.down(), mail?.down(), silent?.down()]);
});

// The rules of names, failures and headers: test/tool/mcp-tools.test.ts and mcp-failures.test.ts.
it("a Worker offers an agent the tools of its MCP servers, and sends headers that it reveals nowhere", async () => {
  endpoint.play([
    { kind: "calls", calls: [{ name: "get_order", input: { id: 1 } }] },
    { kind: "text", text: "$get_order_1.id of them." },
  ]);
  const chunks = chunksIn(await (await post(`${server.url}/conversations/mcp`, "Go.")).text());
  expect(endpoint.requests[0]?.body.tools.map((tool) => tool.function.name)).toEqual([
    "get_weather",
    "compare_weather",
    "get_order",
    "shop_run_code",
    "shop_get_weather",
    "set_variable",
    "run_code",
    "propose_plan",
  ]);
  expect(textIn(chunks)).toBe("7 of them.");
  expect(shop.requests.at(-1)?.headers.authorization).toBe(token);
  expect(JSON.stringify(chunks)).not.toContain("mcp-0123456789");
  expect(server.output()).not.toContain("mcp-0123456789");
});
