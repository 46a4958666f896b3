import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as AiStdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportOne } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject } from "../../src/value/json.ts";
import {
  EVERYTHING,
  FILESYSTEM,
  gatewayCommand,
  MEMORY,
  nameIn,
  textIn,
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
async function connected(mode: "auto" | "legacy") {
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
  );
  await client.connect(new StdioClientTransport({ ...command, stderr: "ignore" }));
  return client;
}

describe.each(["auto", "legacy"] as const)("the gateway, for a client of the %s era", (mode) => {
  let client: Client;

  beforeAll(async () => {
    client = await connected(mode);
  });

  afterAll(() => client.close());

  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });

  it("lists the servers' tools in order, then its own", async () => {
    const tools = await listedTools(client, ["write_file", "echo"]);
    const names = tools.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(["read_file", "read_text_file"]);
    expect(names.indexOf("echo")).toBeGreaterThan(names.indexOf("write_file"));
    expect(names.slice(-5)).toEqual([
      "list_variables",
      "read_variable",
      "edit_variable",
      "query_variables",
      "save_variable",
    ]);
    const own = tools.slice(-5).map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    expect(JSON.stringify(own).length).toBeLessThan(3_000);
    const next = await connected(mode);
    const instructions = next.getInstructions() ?? "";
    await next.close();
    expect(instructions.length).toBeLessThanOrEqual(2_000);
    expect(instructions).toContain("\n\neverything:\n> ");
  });

  it("passes a file of 4 MB from one server to another, byte for byte, with short messages", async () => {
    const text = `${'ü𝄞 \\ "quoted" $orders[0] \t\r\n'.repeat(150_000)}end`;
    writeFileSync(join(files, "large.txt"), text);
    const read = await call("read_text_file", { path: join(files, "large.txt") });
    const copy = join(files, `copy-${mode}.txt`);
    const written = await call("write_file", { path: copy, content: `$${nameIn(read)}.content` });
    expect(readFileSync(copy, "utf8")).toBe(text);
    expect(JSON.stringify([read, written]).length).toBeLessThan(2_000);
  });

  it("copies a file of indented JSON byte for byte, by the name of the result", async () => {
    const records = Array.from({ length: 3_000 }, (_, id) => ({ id, name: `n ${id}`, tags: [] }));
    const json = `${JSON.stringify(records, undefined, 4).replaceAll("\n", "\r\n")}\n`;
    writeFileSync(join(files, "records.json"), json);
    const name = nameIn(await call("read_text_file", { path: join(files, "records.json") }));
    const copy = join(files, `records-${mode}.json`);
    expect(textIn(await call("write_file", { path: copy, content: `$${name}` }))).toContain(
      "wrote",
    );
    expect(readFileSync(copy, "utf8") === json).toBe(true);
  });

  it("saves a result in an allowed folder, and nowhere else", async () => {
    const name = nameIn(await call("get-structured-content", { location: "Chicago" }));
    const file = join(saved, `weather-${mode}.json`);
    expect(textIn(await call("save_variable", { name, file }))).toContain(file);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ temperature: 36 });
    const outside = await call("save_variable", { name, file: join(files, "weather.json") });
    expect(outside.isError).toBe(true);
    expect(textIn(outside)).toContain(saved);
  });

  it("passes 50 values of 1 to 500 KB in Base64, all of them identical", async () => {
    const sizes = Array.from({ length: 50 }, (_, index) => 1 + Math.round((index * 499) / 49));
    for (const size of sizes) {
      const text = randomBytes(size * 768).toString("base64");
      writeFileSync(join(files, "in.b64"), text);
      const read = await call("read_text_file", { path: join(files, "in.b64") });
      const out = join(files, "out.b64");
      await call("write_file", { path: out, content: `$${nameIn(read)}.content` });
      expect(readFileSync(out, "utf8") === text, `${size} KB`).toBe(true);
    }
  });

  it("returns small results unchanged, with their variable names in the metadata", async () => {
    const direct = new Client({ name: "test", version: "1" });
    const [program = "", ...args] = EVERYTHING;
    await direct.connect(new StdioClientTransport({ command: program, args, stderr: "ignore" }));
    const calls = [
      ["echo", { message: "It costs $5, in $HOME." }],
      ["get-sum", { a: 2, b: 40 }],
      ["get-structured-content", { location: "New York" }],
      ["get-resource-links", { count: 2 }],
      ["get-annotated-message", { messageType: "error", includeImage: false }],
    ] as const;
    for (const [name, input] of calls) {
      const { _meta: _own, ...expected } = await direct.callTool({ name, arguments: input });
      const { _meta: meta, ...actual } = await call(name, input);
      expect(actual, name).toEqual(expected);
      expect(meta?.["byref/variable"], name).toMatchObject({ version: expect.any(Number) });
    }
    await direct.close();
  });

  it("resolves references in parameters of any type", async () => {
    const sum = await call("get-sum", { a: 20, b: 22 });
    const name = nameIn(await call("get-structured-content", { location: "Chicago" }));
    expect(textIn(sum)).toContain("42");
    const again = await call("get-sum", { a: `$${name}.temperature`, b: 0 });
    expect(textIn(again)).toMatch(/The sum of 36 and 0 is 36/);
  });

  it("says what is wrong with a reference, and what exists", async () => {
    const name = nameIn(await call("get-structured-content", { location: "Chicago" }));
    const wrong = await call("get-sum", { a: `$${name}.temperatur`, b: 1 });
    expect(wrong.isError).toBe(true);
    expect(textIn(wrong)).toContain("path_not_found");
    expect(textIn(wrong)).toContain("temperature");
    const note = await call("echo", { message: `$${name.slice(0, -1)}` });
    expect(textIn(note)).toContain(`There is $${name}`);
  });

  it("passes on a server's error without a variable", async () => {
    const failure = await call("read_text_file", { path: join(files, "missing") });
    expect(failure.isError).toBe(true);
    expect(textIn(failure)).toContain("ENOENT");
    expect(failure._meta?.["byref/variable"]).toBeUndefined();
  });

  it("answers SQL queries and changes values", async () => {
    writeFileSync(
      join(files, "page.html"),
      `<h1>Price: 10</h1>\n${"<p>text</p>\n".repeat(30_000)}`,
    );
    const page = nameIn(await call("read_text_file", { path: join(files, "page.html") }));
    const edits = [{ op: "replace", path: "/content", value: "short" }];
    const edited = await call("edit_variable", { name: page, edits, saveAs: "short_page" });
    expect(edited.isError).not.toBe(true);
    const rows = await call("query_variables", { sql: "SELECT key, value FROM short_page" });
    expect(textIn(rows)).toContain('"value":"short"');
    expect(textIn(await call("read_variable", { name: "short_page" }))).toContain("short");
  });

  it("offers variables as resources, beside the servers' own", async () => {
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris).toContain("byref://variables/short_page");
    expect(uris.some((uri) => uri.startsWith("demo://"))).toBe(true);
    const { contents } = await client.readResource({ uri: "byref://variables/short_page" });
    expect(contents).toMatchObject([{ text: '{"content":"short"}' }]);
    const dynamic = await client.readResource({ uri: "demo://resource/dynamic/text/1" });
    expect(JSON.stringify(dynamic.contents)).toContain("Resource 1");
    await expect(client.readResource({ uri: "byref://variables/none" })).rejects.toThrow(
      "variable_not_found",
    );
    await expect(client.readResource({ uri: "nothing://here" })).rejects.toThrow("nothing://here");
  });

  it("forwards prompts and completions", async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain("args-prompt");
    const { messages } = await client.getPrompt({
      name: "args-prompt",
      arguments: { city: "Paris" },
    });
    expect(JSON.stringify(messages)).toContain("Paris");
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "department", value: "S" },
    });
    expect(completion.values).toContain("Sales");
  });

  it("forwards progress", async () => {
    const steps: number[] = [];
    await client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 1, steps: 4 } },
      { onprogress: ({ progress }) => steps.push(progress) },
    );
    // The result may overtake the last one.
    expect(steps.slice(0, 3)).toEqual([1, 2, 3]);
  });

  it("forwards a server's question to the person, and the answer back", async () => {
    client.setRequestHandler("elicitation/create", () => ({
      action: "accept",
      content: { name: "Ada" },
    }));
    await listedTools(client, ["trigger-elicitation-request"]);
    const answer = await call("trigger-elicitation-request");
    expect(textIn(answer)).toContain("Ada");
  });
});

describe("two gateways of one workspace", () => {
  it("share their variables, even while both write", async () => {
    const clients = [await connected("auto"), await connected("auto")];
    const [one, other] = clients;
    const names = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const input = { message: `call ${index}` };
        const result = await clients[index % 2]?.callTool({ name: "echo", arguments: input });
        return nameIn(result ?? {});
      }),
    );
    expect(new Set(names).size).toBe(30);
    for (const [index, name] of names.entries()) {
      const message = `$${name}!`;
      const reader = index % 2 === 0 ? other : one;
      const result = await reader?.callTool({ name: "echo", arguments: { message } });
      expect(textIn(result ?? {})).toBe(`Echo: Echo: call ${index}!`);
    }
    for (const client of clients) await client.close();
  });
});

describe("other clients of the gateway", () => {
  it("call a tool that its server runs only as a task", async () => {
    const client = await connected("auto");
    const tools = await listedTools(client, ["simulate-research-query"]);
    const research = tools.find(({ name }) => name === "simulate-research-query");
    expect(research).not.toHaveProperty("execution");
    const found = await client.callTool({
      name: "simulate-research-query",
      arguments: { topic: "tides" },
    });
    expect(found.isError).toBeUndefined();
    const name = nameIn(found);
    const read = await client.callTool({ name: "read_variable", arguments: { name } });
    expect(textIn(read)).toContain("tides");
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
});
