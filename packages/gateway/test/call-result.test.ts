import type { CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { clientResult } from "../src/call-result.ts";
import { toolOutput, type ToolOutput } from "../../../src/tool/tool-output.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { storeWith } from "../../../test/support/wrapped.ts";

const block = (text: string) => ({ type: "text" as const, text });
const META = { "byref/variable": { name: "a", version: 1 } };

async function infoOf(value: string | readonly number[]): Promise<VariableInfo> {
  const [info] = (await storeWith({ a: value })).list();
  if (info === undefined) throw new Error("Nothing was saved.");
  return info;
}

const LONG = "x".repeat(2_000);

describe("the result of a call for a client", () => {
  it("has neither size nor shape of a guarded value, and none of its images", async () => {
    const info: VariableInfo = { ...(await infoOf("4111")), visibility: "sealed" };
    const received: CallToolResult = {
      content: [block("4111"), { type: "image", data: "AAAA", mimeType: "image/png" }],
    };
    const output = toolOutput(info, "4111");
    const { content } = clientResult({ received, output, info, inlineChars: 1_000 });
    const [handle, link, ...others] = content;
    expect(handle).toMatchObject({ text: expect.stringContaining('"visibility":"sealed"') });
    expect(link).toEqual({
      type: "resource_link",
      uri: "byref://variables/a",
      name: "a",
      mimeType: "text/plain",
    });
    expect(others).toEqual([]);
  });

  it("says only why a value was not kept, however small it is", () => {
    const output = { notKept: "This result was not kept as a variable: full." };
    const received = { content: [block("short")] };
    const result = clientResult({ received, output, info: undefined, inlineChars: 1_000 });
    expect(result).toEqual({ content: [block(JSON.stringify(output))] });
  });

  it.each([
    [1_000, false],
    [1_001, true],
  ])("counts structured content of %i characters: a handle is %s", async (chars, isHandle) => {
    const info = await infoOf([1]);
    const structuredContent = { a: "x".repeat(chars - '{"a":""}'.length) };
    const received = { content: [block("short")], structuredContent };
    const output = toolOutput(info, [1]);
    const result = clientResult({ received, output, info, inlineChars: 1_000 });
    expect(result.structuredContent === undefined).toBe(isHandle);
  });

  it("has the images beside a handle, but no image without data, and says where a sound is", async () => {
    const info = await infoOf(LONG);
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
    const empty = { type: "image", mimeType: "image/png" };
    // A server may send what the protocol does not allow.
    const content = [block(LONG), image, sound, empty] as CallToolResult["content"];
    const output = toolOutput(info, LONG);
    const result = clientResult({ received: { content }, output, info, inlineChars: 1_000 });
    const note = "1 content is not shown but kept, as base64: $a[2].data: audio/wav of 3 bytes.";
    expect(result.content.slice(2)).toEqual([block(note), image]);
  });
});

describe("a short result", () => {
  const notes = async (unresolved: readonly { reference: string; near?: readonly string[] }[]) => {
    const info = await infoOf("short");
    const output = { $var: "a", value: "short", unresolved } as ToolOutput;
    const received = { content: [block("short")], _meta: { own: 1 } };
    return clientResult({ received, output, info, inlineChars: 5 });
  };

  it("names the variables that an unknown one resembles, each of them", async () => {
    const near = ["order", "orders"];
    expect(await notes([{ reference: "$ordr", near }])).toEqual({
      content: [
        block("short"),
        block("$ordr is not a variable and was passed as it is. There is $order, $orders."),
      ],
      _meta: { own: 1, ...META },
    });
  });
});
