import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { startGateway } from "../../../test/support/gateway.ts";
import { HttpSessions } from "../src/cli/http.ts";
import { gatewayServer } from "../src/gateway-server.ts";

const ACCEPT = { accept: "application/json, text/event-stream" };

/** Opens a session, whose tool `wait` answers with what it is given when the test says so. */
async function openSession(more: Record<string, string> = {}) {
  const ends = new Map<string, () => void>();
  const make = () => {
    const server = new McpServer({ name: "shop", version: "1" });
    server.registerTool("wait", { inputSchema: z.object({ who: z.string() }) }, async ({ who }) => {
      await new Promise<void>((end) => ends.set(who, end));
      return { content: [{ type: "text", text: `for ${who}` }] };
    });
    return server;
  };
  const { gateway } = await startGateway([{ name: "shop", make }]);
  const sessions = new HttpSessions(() => gatewayServer(gateway, "legacy"));
  onTestFinished(() => sessions.close());
  let session: Record<string, string> = {};
  const post = async (parsedBody: unknown, more: Record<string, string> = ACCEPT) => {
    const headers = { "content-type": "application/json", ...more, ...session };
    const request = new Request("http://127.0.0.1/mcp", { method: "POST", body: "", headers });
    const response = await sessions.fetch(request, { parsedBody });
    const id = response?.headers.get("mcp-session-id") ?? undefined;
    if (id !== undefined) session = { "mcp-session-id": id };
    return response?.text();
  };
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  await post({ jsonrpc: "2.0", id: 0, method: "initialize", params }, { ...ACCEPT, ...more });
  const calling = (who: string, id: number) => {
    return {
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "wait", arguments: { who } },
    };
  };
  const end = async (who: string) => {
    await expect.poll(() => ends.has(who)).toBe(true);
    ends.get(who)?.();
  };
  return { post, calling, end };
}

it.each([
  [{}],
  // xpzouying/xiaohongshu-mcp#697, Effect-TS/effect#7388.
  [{ "mcp-protocol-version": "2025-06-18" }],
])("in a session begun with %j, an id is refused while it runs, and is answered", async (more) => {
  const { post, calling, end } = await openSession(more);
  const answer = post(calling("a", 7));
  expect(await post(calling("b", 7))).toContain("-32600");
  await end("a");
  expect(await answer).toContain("for a");
});

it.each([
  ["is refused", (post: Post) => post({ jsonrpc: "2.0", id: 7, method: "ping" }, { accept: "" })],
  [
    "is cancelled",
    (post: Post, running: unknown) => {
      void post(running);
      const params = { requestId: 7 };
      return post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    },
  ],
])("the id of a request that %s can be used again", async (_what, before) => {
  const { post, calling, end } = await openSession();
  await before(post, calling("a", 7));
  const answer = post(calling("b", 7));
  await end("b");
  expect(await answer).toContain("for b");
});

it("two requests of a batch with one id are refused", async () => {
  const { post, calling } = await openSession();
  expect(await post([calling("a", 7), calling("b", 7)])).toContain("-32600");
});

type Post = Awaited<ReturnType<typeof openSession>>["post"];
