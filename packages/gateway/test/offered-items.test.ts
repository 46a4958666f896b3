import { type Tool } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import type { LeftOut } from "../src/connecting.ts";
import { lastingNames, offeredTools, type ToolOfServer } from "../src/offered-items.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { RuntimeTool } from "../../../src/tool/runtime-tool.ts";
import { wrapTool } from "../../../src/tool/tool-call.ts";
import type { AnyTool } from "../../../src/tool/wrapped-tool.ts";
const SCHEMA = { type: "object" as const, properties: { id: { type: "string" as const } } };

/** Offers these tools of a server, of this process by name, and of the gateway. */
async function offer(
  listed: readonly Tool[],
  own: readonly RuntimeTool[] = [],
  local: Readonly<Record<string, AnyTool>> = {},
) {
  const store = new MemoryStore();
  const leftOut: LeftOut[] = [];
  const inputs: unknown[] = [];
  const upstream = {
    server: { name: "shop", address: { url: "", headers: {} }, rules: {} },
    leaveOut: (item: LeftOut) => leftOut.push(item),
  };
  const wrapped = await Promise.all(
    Object.entries(local).map(
      async ([name, one]) => [name, await wrapTool(name, one, { store })] as const,
    ),
  );
  const offered = await offeredTools(
    listed.map((one) => ({ upstream, tool: one }) as unknown as ToolOfServer),
    {
      wrap: { store },
      local: new Map(wrapped),
      own,
      names: lastingNames(),
      call: async (_from, input) => inputs.push(input),
    },
  );
  return { offered, leftOut, inputs };
}

describe("the tools that a client is offered", () => {
  it("exclude a tool whose schema cannot be read, and say so", async () => {
    const endless = '{"not":'.repeat(50_000) + "{}" + "}".repeat(50_000);
    const bad = { type: "object", properties: { a: JSON.parse(endless) as object } };
    const listed = [
      { name: "bad", inputSchema: bad as unknown as Tool["inputSchema"] },
      { name: "good", inputSchema: SCHEMA },
    ];
    const { offered, leftOut } = await offer(listed);
    expect([...offered.keys()]).toEqual(["good"]);
    expect(leftOut).toEqual([{ kind: "tool", name: "bad", why: expect.stringMatching(/.+/u) }]);
  });
});

describe("the gateway's own tools", () => {});
