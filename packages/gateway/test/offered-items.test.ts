import type { Tool } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import type { LeftOut } from "../src/servers/connecting.ts";
import { lastingNames, offeredTools, type ToolOfServer } from "../src/offered-items.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";

it("a tool whose schema cannot be read is not offered, and its server says so", async () => {
  const endless = '{"items":'.repeat(50_000) + "{}" + "}".repeat(50_000);
  const bad: unknown = { type: "object", properties: { a: JSON.parse(endless) } };
  const leftOut: LeftOut[] = [];
  const upstream = {
    server: { name: "shop", address: { url: "", headers: {} }, rules: {} },
    leaveOut: (item: LeftOut) => void leftOut.push(item),
  };
  const listed = [
    { name: "bad", inputSchema: bad as Tool["inputSchema"] },
    { name: "good", inputSchema: { type: "object" as const } },
  ];
  const offered = await offeredTools(
    listed.map((tool) => ({ upstream, tool }) as unknown as ToolOfServer),
    {
      wrap: { store: new MemoryStore() },
      local: new Map(),
      own: [],
      names: lastingNames(),
      call: async () => undefined,
    },
  );
  expect([...offered.keys()]).toEqual(["good"]);
  expect(leftOut).toEqual([{ kind: "tool", name: "bad", why: expect.stringMatching(/.+/u) }]);
});
