import type { CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const block = (text: string) => ({ type: "text" as const, text });
const picture = (bytes: number) => ({
  type: "image" as const,
  data: Buffer.alloc(bytes, 1).toString("base64"),
  mimeType: "image/png",
});
const LONG = `Error: ${"why ".repeat(800)}end`;
const structuredContent = { code: 7 };

/** Starts a gateway in front of a server whose tool fails like this. */
async function failing(failure: Partial<CallToolResult>, rules: object = {}) {
  const make = () =>
    new RawServer({
      "tools/list": () => ({ tools: [{ name: "fail", inputSchema: { type: "object" } }] }),
      "tools/call": () => ({ ...failure, isError: true }),
    });
  return startGateway([{ name: "shop", make, rules }]);
}

describe("a failure of a server", () => {
  it.each<[string, Partial<CallToolResult>]>([
    ["a text of the limit's length", { content: [block("x".repeat(1_000))] }],
    ["two texts", { content: [block("one"), block("two")] }],
    ["structured content", { content: [block("no")], structuredContent }],
    ["a picture beside a text", { content: [block("no"), picture(9_000)] }],
    ["nothing", { content: [] }],
    ["metadata", { content: [block("no")], _meta: { own: 1 } }],
  ])("is passed on unchanged and not kept: %s", async (_what, failure) => {
    const { call, store } = await failing(failure);
    expect(await call("fail")).toEqual({ ...failure, isError: true });
    expect(store.list()).toEqual([]);
  });

  it.each<[string, Partial<CallToolResult>, unknown]>([
    ["a text", { content: [block(LONG)] }, LONG],
    ["a JSON text", { content: [block(JSON.stringify([LONG]))] }, [LONG]],
    ["two texts", { content: [block("one"), block(LONG)] }, [block("one"), block(LONG)]],
    [
      "structured content beside other texts",
      { content: [block(LONG)], structuredContent },
      { content: [block(LONG)], structuredContent },
    ],
    [
      "structured content as text",
      { content: [block(JSON.stringify({ LONG }))], structuredContent: { LONG } },
      { LONG },
    ],
  ])("is kept whole if it is long, and comes as a handle: %s", async (_what, failure, value) => {
    const { call, store, statistics } = await failing(failure);
    const result = await call("fail");
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringContaining("Kept as $fail_1") },
        { type: "resource_link", uri: "byref://variables/fail_1" },
      ],
    });
    expect(await store.read("fail_1")).toEqual(value);
    expect(statistics.read()).toMatchObject({ calls: 1, kept: 1, recovered: 0 });
  });

  it.each([["no"], [LONG]])("of a guarded call is withheld: %s", async (text) => {
    const rules = { tools: { fail: { sealed: true } } };
    const { call, store } = await failing({ content: [block(text), picture(9)] }, rules);
    expect(await call("fail")).toEqual({
      isError: true,
      content: [
        block("tool_failed: fail failed; details are withheld, because its result is sealed."),
      ],
    });
    expect(store.list()).toEqual([]);
  });

  it.each([["no"], [LONG]])("is untrusted like its results: %s", async (text) => {
    const { call, gateway } = await failing({ content: [block(text)] });
    await call("fail");
    expect(gateway.taint.isTainted).toBe(true);
  });
});
