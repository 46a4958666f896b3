import { describe, expect, it } from "vitest";
import { jsonSchema, type ToolSet } from "ai";
import * as z from "zod";
import { wrapTools as wrapForAgent } from "../../packages/adapters/src/agent/wrap-tools.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { jsonSchemaOf } from "../../src/tool/tool-input.ts";
import { Conversation } from "../support/turn.ts";

const dated = z.object({ id: z.string(), since: z.date(), until: z.date().optional() });

describe("a tool whose schema has no JSON Schema", () => {
  it.each([
    ["a map", z.map(z.string(), z.string())],
    ["a schema that throws", jsonSchema(() => Promise.reject(new Error("Not today.")))],
  ])("is named without properties if the whole schema fails: %s", async (_, inputSchema) => {
    const asking = jsonSchemaOf(
      { inputSchema: inputSchema as ToolSet[string]["inputSchema"] },
      "t",
    );
    await expect(asking).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringMatching(/^The inputSchema of the tool t has no JSON Schema: ./),
    });
  });

  it("ends the turn with its own error code", async () => {
    const tools = { list_orders: { description: "", inputSchema: dated, execute: () => 1 } };
    const { result } = await new Conversation({ tools }).say({ steps: [] });
    expect(result.error).toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining("list_orders"),
    });
  });

  it("is named by byref/agent too", async () => {
    const tools = { list_orders: { description: "", inputSchema: dated, execute: () => 1 } };
    const { list_orders } = wrapForAgent(tools as ToolSet, { store: new MemoryStore() });
    await expect(async () =>
      jsonSchemaOf(list_orders ?? { inputSchema: dated }, "x"),
    ).rejects.toThrow(/list_orders/);
  });
});
