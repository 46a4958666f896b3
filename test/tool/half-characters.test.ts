import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { FileSaver } from "../../packages/gateway/src/own-tools.ts";
import { fileContent, type FileFormat } from "../../src/tool/files.ts";
import type { Json } from "../../src/value/json.ts";
import { startGateway } from "../support/gateway.ts";
import { nameIn, textIn } from "../support/gateway-process.ts";

const HALF = "\ud83d";

describe("half of a character in a file", () => {
  it.each<[FileFormat, Json, object]>([
    ["csv", [{ a: "x" }, { a: `é${HALF}` }], { path: "[1].a", character: 2 }],
    ["md", [{ a: HALF }], { path: "[0].a", character: 1 }],
    ["md", `a${HALF}`, { path: "", character: 2 }],
    ["txt", `😀${HALF}`, { path: "", character: 2 }],
  ])("is refused with its place in %s", (format, value, details) => {
    const code = "bad_value";
    expect(() => fileContent(value, format)).toThrow(expect.objectContaining({ code, details }));
  });

  it.each<[FileFormat, Json]>([
    ["json", [{ a: HALF }]],
    ["json", HALF],
    ["md", { a: HALF }],
    ["txt", { a: HALF }],
  ])("stays in JSON, in %s", (format, value) => {
    const content = fileContent(value, format);
    expect("text" in content && content.text).toContain(String.raw`\ud83d`);
  });
});

const received: unknown[] = [];
function servers() {
  const server = new McpServer({ name: "half", version: "1" });
  server.registerTool("note", { inputSchema: z.object({}) }, () => ({
    content: [{ type: "text", text: `a😀${HALF}` }],
  }));
  server.registerTool("keep", { inputSchema: z.object({ it: z.string() }) }, ({ it: given }) => {
    received.push(given);
    return { content: [{ type: "text", text: "kept" }] };
  });
  return server;
}

it("text over MCP carries half of a character, whole and inside of a text; a file cannot", async () => {
  const files: FileSaver = {
    async save(file, content) {
      for await (const piece of content) expect(piece.length).toBe(0);
      return { file, bytes: 0 };
    },
  };
  const { call } = await startGateway([{ name: "half", make: servers }], { files });
  const name = nameIn(await call("note"));
  await call("keep", { it: `$${name}` });
  await call("keep", { it: `<$${name}>` });
  expect(received).toEqual([`a😀${HALF}`, `<a😀${HALF}>`]);
  const saved = await call("save_variable", { name, file: "a.txt" });
  expect(saved.isError).toBe(true);
  expect(textIn(saved)).toContain(
    "bad_value: Half of a character (a lone surrogate), as character 3",
  );
});
