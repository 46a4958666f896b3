import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as AiStdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportOne } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isObject } from "../../src/value/json.ts";
import {
  EVERYTHING,
  FILESYSTEM,
  gatewayCommand,
  MEMORY,
  nameIn,
} from "../support/gateway-process.ts";
import { listedTools } from "../support/listed-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-"));
const files = join(folder, "files");
mkdirSync(files);
const servers = { files: [...FILESYSTEM, files], everything: EVERYTHING, memory: MEMORY };
const saved = join(folder, "saved");
mkdirSync(saved);
const started = gatewayCommand(folder, servers);
const command = { ...started, args: [...started.args, "--allow-write", saved] };

/** Connects a client of the MCP library that the gateway itself uses. */
async function connected(more: readonly string[] = []) {
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: "auto" }, capabilities: { elicitation: { form: {} } } },
  );
  const args = [...command.args, ...more];
  await client.connect(new StdioClientTransport({ ...command, args, stderr: "ignore" }));
  return client;
}

describe("the gateway", () => {
  let client: Client;

  beforeAll(async () => {
    client = await connected();
    await listedTools(client, ["write_file"]);
  });

  afterAll(() => client.close());

  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });

  it("passes a file of 4 MB from one server to another, byte for byte, with short messages", async () => {
    const text = `${'ü𝄞 \\ "quoted" $orders[0] \t\r\n'.repeat(150_000)}end`;
    writeFileSync(join(files, "large.txt"), text);
    const read = await call("read_text_file", { path: join(files, "large.txt") });
    const copy = join(files, "copy.txt");
    const written = await call("write_file", { path: copy, content: `$${nameIn(read)}.content` });
    expect(readFileSync(copy, "utf8")).toBe(text);
    expect(JSON.stringify([read, written]).length).toBeLessThan(2_000);
  });
});

const searching = join(folder, "searching.json");

it.each([
  ["--tools", "search"],
  ["--config", searching],
])("finds and calls the tools of published servers, with %s %s", async (...option) => {
  const written = JSON.parse(readFileSync(join(folder, "mcp.json"), "utf8")) as object;
  writeFileSync(searching, JSON.stringify({ ...written, byref: { tools: "search" } }));
  const client = await connected(option);
  const by = (name: string, args: object) =>
    client.callTool({ name: "call_tool", arguments: { name, arguments: args } });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("echo");
  await vi.waitFor(async () => {
    const listed = (await client.listTools()).tools.find(({ name }) => name === "find_tools");
    expect(JSON.stringify(listed?.inputSchema)).toMatch(/\\nread_text_file: .*\\necho: /u);
  });
  const text = "by reference ".repeat(1_000);
  writeFileSync(join(files, "found.txt"), text);
  const name = nameIn(await by("read_text_file", { path: join(files, "found.txt") }));
  expect(name).toMatch(/^read_text_file_/u);
  await by("write_file", { path: join(files, "called.txt"), content: `$${name}` });
  expect(readFileSync(join(files, "called.txt"), "utf8")).toBe(text);
  await client.close();
});

it("the SDK's first version reads, passes results on and answers questions", async () => {
  const client = new ClientOne(
    { name: "one", version: "1" },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Grace" },
  }));
  await client.connect(new TransportOne({ ...command, stderr: "ignore" }));
  try {
    const asked = await client.callTool({ name: "trigger-elicitation-request", arguments: {} });
    expect(JSON.stringify(asked.content)).toContain("Grace");
    const echoed = await client.callTool({ name: "echo", arguments: { message: "one" } });
    const name = nameIn(echoed);
    const again = await client.callTool({ name: "echo", arguments: { message: `$${name}!` } });
    expect(JSON.stringify(again.content)).toContain("Echo: Echo: one!");
    expect((await client.listTools()).tools.at(-1)?.name).toBe("save_variable");
  } finally {
    await client.close();
  }
});

it("the AI SDK's client accepts the tools as listed", async () => {
  const client = await createMCPClient({ transport: new AiStdioTransport(command) });
  try {
    const { echo } = await client.tools();
    if (echo === undefined) throw new Error("There is no tool echo.");
    const result = await echo.execute(
      { message: "sdk" },
      { toolCallId: "1", messages: [], context: {} },
    );
    expect(isObject(result) && JSON.stringify(result.content)).toContain("Echo: sdk");
  } finally {
    await client.close();
  }
});
