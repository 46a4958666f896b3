import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { type Agent, createRuntime, mcpTools, requireTrusted } from "byref";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime, withWorker } from "../../support/own-runtime.ts";
import { messagesOf } from "../../support/paying.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";

// --- agent
const clerk: Agent = {
  name: "clerk",
  description: "Answers mail about orders.",
  instructions: "Look orders up, and answer.",
  tools: {},
  policies: {
    "shop/list": { trusted: true },
    send_mail: { approval: true, trusted: true }, // trusted does not count here
  },
  policy: requireTrusted(["delete_*"]),
  effects: { send_mail: "idempotent" },
};
// ---

const HOST = "https://shop.example";
const servers = JSON.stringify([{ name: "shop", url: `${HOST}/mcp` }]);
const called: string[] = [];
/** The key that came with each list and call of tools. */
const keys: string[] = [];

const shop = createMcpHandler(() => {
  const server = new McpServer({ name: "shop", version: "1" });
  for (const name of ["list", "look", "send_mail", "delete_all"]) {
    server.registerTool(name, { inputSchema: z.object({}) }, () => {
      called.push(name);
      return { content: [{ type: "text", text: "[1]" }] };
    });
  }
  return server;
});

function serve(): void {
  vi.stubGlobal("fetch", async (to: string | URL, init?: RequestInit) => {
    const request = new Request(to, init);
    if (new URL(to).origin !== HOST) throw new Error("Nobody is asked but the server.");
    const [, method = ""] = /"method":"(tools[^"]+)"/.exec(await request.clone().text()) ?? [];
    if (method !== "") keys.push(`${method} ${request.headers.get("authorization")}`);
    return shop.fetch(request);
  });
}

afterEach(() => {
  vi.unstubAllGlobals();
  called.length = 0;
  keys.length = 0;
});

const asked = finish("tool-calls");
const go = json({ message: "Go." }, { accept: "text/plain" });

it("an application passes the MCP client", async () => {
  serve();
  const model = scriptedModel([[toolCall("list", {}), asked]]);
  // --- runtime
  const runtime = createRuntime({ agents: [clerk], model, mcp: mcpTools });
  // ---
  const settings = { bindings: { MCP_SERVERS: servers } };
  const play = async (own: Pick<OwnRuntime, "call">) =>
    (await own.call("POST", "/conversations/c/messages", go)).text();
  await withWorker(runtime, play, settings);
  expect(called).toEqual(["list"]);
  expect(await withRuntime({ agents: [clerk], model }, play, settings)).toContain(
    "bad_configuration",
  );
});

it("an agent has servers of its own, for who asks", async () => {
  serve();
  const tokenOf = (tenant: string) => `Bearer ${tenant}`;
  // --- servers of one agent
  const desk: Agent = {
    name: "desk",
    description: "Answers customers.",
    instructions: "Look orders up, and answer.",
    tools: {},
    mcpServers: ({ tenant }) => [
      {
        name: "shop",
        url: "https://shop.example/mcp",
        headers: { authorization: tokenOf(tenant) },
      },
    ],
  };
  // ---
  const steps = [[toolCall("list", {}), asked].flat(), [text("Done."), finish()]];
  const model = scriptedModel([...steps, ...steps]);
  const options = { agents: [desk], model, mcp: mcpTools } as const;
  for (const tenant of ["acme", "globex"]) {
    await withRuntime({ ...options, authenticator: () => tenant }, async (own) => {
      await (await own.call("POST", "/conversations/c/messages", go)).text();
    });
  }
  // The list of one is not the list of the other.
  expect(new Set(keys)).toEqual(
    new Set(
      ["acme", "globex"].flatMap((who) => [`tools/list Bearer ${who}`, `tools/call Bearer ${who}`]),
    ),
  );
});

it("an agent's settings for a server's tools work as the guide says", async () => {
  serve();
  const model = scriptedModel([
    [toolCall("list", {}), toolCall("delete_all", {}), asked],
    [toolCall("look", {}), asked],
    [toolCall("delete_all", {}), toolCall("send_mail", {}), asked],
  ]);
  const options = { agents: [clerk] as const, model, mcp: mcpTools };
  await withRuntime(
    options,
    async (own) => {
      await (await own.call("POST", "/conversations/c/messages", go)).text();
      // `list` is trusted, so its result does not taint the model's next calls.
      expect(called).toEqual(["list", "delete_all", "look"]);
      const waiting = messagesOf(own).at(-1)?.parts.slice(-2);
      expect(waiting).toMatchObject([
        { type: "dynamic-tool", toolName: "delete_all", state: "approval-requested" },
        { type: "dynamic-tool", toolName: "send_mail", state: "approval-requested" },
      ]);
    },
    { bindings: { MCP_SERVERS: servers } },
  );
});
