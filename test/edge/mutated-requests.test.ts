import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { call, newId } from "../support/edge.ts";
import { withGateway } from "../support/gateway-shop.ts";
import { mutationsOf } from "../support/mutations.ts";
import { slow } from "../support/slow.ts";
import { connect, resumeFrame, sendFrame } from "../support/socket-client.ts";

let failures: unknown[];
beforeEach(() => {
  failures = [];
  vi.spyOn(console, "error").mockImplementation((line) => void failures.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe("with one field changed or removed", slow, () => {
  it("a frame of a socket gets an answer, and no failure of the server", async () => {
    const id = newId();
    const frames = [
      sendFrame("r", id, "What is the weather in NYC?"),
      resumeFrame("r", id, 1),
      { type: "abort", requestId: "r" },
    ];
    let count = 0;
    for (const frame of frames) {
      for (const { name, made } of mutationsOf(frame)) {
        const socket = await connect(call, id);
        socket.send(made);
        socket.send({ type: "abort", requestId: "r" });
        socket.send({ type: "none", requestId: "last" });
        const [last] = await socket.until("error", "last");
        expect(last, name).toMatchObject({ errorText: expect.stringContaining("bad_request: ") });
        const said = JSON.stringify(socket.frames);
        expect(said, name).not.toContain("internal: ");
        socket.close();
        await socket.closed;
        count++;
      }
    }
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(200);
  });

  it("a request to a conversation's MCP endpoint is answered or refused", () =>
    withGateway(async (own) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const clientInfo = { name: "test", version: "1" };
      const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
      const uri = "byref:variables/list_numbers_1";
      const requests: readonly (readonly [method: string, params: object])[] = [
        ["initialize", initialize],
        ["tools/list", { _meta }],
        ["tools/call", { name: "list_numbers", arguments: { count: 3 }, _meta }],
        ["tools/call", { name: "read_variable", arguments: { name: "list_numbers_1" }, _meta }],
        ["resources/list", { _meta }],
        ["resources/read", { uri, _meta }],
        ["prompts/list", { _meta }],
        ["server/discover", { _meta }],
      ];
      let count = 0;
      for (const [method, params] of requests) {
        for (const { name, made } of mutationsOf({ jsonrpc: "2.0", id: 1, method, params })) {
          const response = await own.call("POST", "/conversations/one/mcp?agent=clerk", {
            body: JSON.stringify(made),
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
            },
          });
          const text = await response.text();
          expect(response.status, `${method}${name}: ${text}`).toBeLessThan(500);
          count++;
        }
      }
      expect(failures).toEqual([]);
      expect(count).toBeGreaterThan(500);
    }));
});
