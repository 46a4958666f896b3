import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { type BehindServer, startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";

const EMPTY = z.object({});
const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Creates a server of either era with a tool that runs until it is aborted, and with lists that change. */
function working(era: "modern" | "legacy") {
  const stopped: string[] = [];
  const tools = ["work", "echo"];
  const make = () => {
    const server = new McpServer({ name: "working", version: "1" });
    const register = (name: string) =>
      server.registerTool(name, { inputSchema: EMPTY }, async (_input, { mcpReq }) => {
        if (name !== "work") return said(name);
        const { signal, _meta: meta } = mcpReq;
        const progressToken = meta?.progressToken ?? "";
        for (const progress of [1, 2]) {
          const params = { progressToken, progress, total: 3, message: `step ${progress}` };
          await mcpReq.notify({ method: "notifications/progress", params });
        }
        await new Promise((done) => signal.addEventListener("abort", done));
        stopped.push(name);
        return said("stopped");
      });
    for (const name of tools) register(name);
    return server;
  };
  const handler = createMcpHandler(make, { responseMode: "sse" });
  const transport = () =>
    new StreamableHTTPClientTransport(new URL("https://working.example/mcp"), {
      fetch: async (to, init) => handler.fetch(new Request(to, init)),
    });
  const behind: BehindServer =
    era === "legacy" ? { name: "working", make } : { name: "working", make, open: transport };
  return { behind, stopped };
}

describe.each([
  ["modern", "modern"],
  ["modern", "legacy"],
  ["legacy", "modern"],
  ["legacy", "legacy"],
] as const)("between a %s client and a %s server, the gateway", (era, its) => {
  it.each([
    ["", "list"],
    [" by call_tool", "search"],
  ] as const)("passes on progress and cancellation of a call%s", async (_how, tools) => {
    const { behind, stopped } = working(its);
    const { client, call } = await startGateway([behind], { era, tools });
    const cancelling = new AbortController();
    const steps: unknown[] = [];
    const onprogress = (progress: object) => steps.push(progress);
    const running = client.callTool(
      { name: "work", arguments: {} },
      { signal: cancelling.signal, onprogress },
    );
    const cancelled = running.catch(String);
    await vi.waitFor(() => expect(steps).toHaveLength(2));
    expect(steps).toEqual([
      { progress: 1, total: 3, message: "step 1" },
      { progress: 2, total: 3, message: "step 2" },
    ]);
    expect(textIn(await call("echo"))).toBe("echo");
    expect(stopped).toEqual([]);
    cancelling.abort("The person has pressed Esc.");
    expect(await cancelled).toContain("Esc");
    await vi.waitFor(() => expect(stopped).toEqual(["work"]));
    expect(textIn(await call("echo"))).toBe("echo");
  });
});
