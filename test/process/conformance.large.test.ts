import { type ChildProcess, execFile, execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gatewayCommand, startHttpGateway } from "../support/gateway-process.ts";
import { startLoopback } from "../support/loopback.ts";
import { temporaryFolder } from "../support/server.ts";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import * as schemas from "@modelcontextprotocol/sdk/types.js";

/** Files that the conformance suite expects from a server: a PNG of one pixel and an empty WAV. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = (said: string) => ({ type: "text" as const, text: said });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, content: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: content },
});
const message = (content: object) => ({ role: "user" as const, content });
const pause = () => new Promise((done) => setTimeout(done, 20));

const RESULTS: Readonly<Record<string, readonly object[]>> = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [image],
  test_audio_content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  test_embedded_resource: [
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ],
};

const choices = ["one", "two", "three"];
const titled = choices.map((value) => ({ const: value, title: `Option ${value}` }));

/** Elicitation forms of tools, by name. */
const FORMS: Readonly<Record<string, object>> = {
  test_elicitation: {
    properties: { username: { type: "string" }, email: { type: "string" } },
    required: ["username", "email"],
  },
  test_elicitation_sep1034_defaults: {
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  },
  test_elicitation_sep1330_enums: {
    properties: {
      untitledSingle: { type: "string", enum: choices },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: { type: "string", enum: choices, enumNames: ["One", "Two", "Three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: choices } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    },
  },
};

const TOOL_2020 = {
  name: "json_schema_2020_12_tool",
  description: "Tool with JSON Schema 2020-12 features",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object" as const,
    $defs: {
      address: {
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
};

const PROMPTS: Readonly<Record<string, (given: Readonly<Record<string, string>>) => object[]>> = {
  test_simple_prompt: () => [message(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    message(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ],
  test_prompt_with_embedded_resource: ({ resourceUri = "" }) => [
    message(resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
    message(text("Please process the embedded resource above.")),
  ],
  test_prompt_with_image: () => [message(image), message(text("Please analyze the image above."))],
};

const PROMPT_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

/** A server with everything that the suite requires, built with version 1 of the official library. */
function conformanceServer(): Server {
  const server = new Server(
    { name: "conformance", version: "1" },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        prompts: {},
        completions: {},
        logging: {},
      },
    },
  );
  serveTools(server);
  serveResources(server);
  server.setRequestHandler(schemas.ListPromptsRequestSchema, () => ({
    prompts: Object.keys(PROMPTS).map((name) => ({
      name,
      description: name,
      arguments: (PROMPT_ARGUMENTS[name] ?? []).map((argument) => ({
        name: argument,
        description: argument,
        required: true,
      })),
    })),
  }));
  server.setRequestHandler(schemas.GetPromptRequestSchema, ({ params }) => ({
    messages: PROMPTS[params.name]?.(params.arguments ?? {}) ?? [],
  }));
  server.setRequestHandler(schemas.CompleteRequestSchema, () => ({
    completion: { values: ["paris", "park"], total: 2, hasMore: false },
  }));
  return server;
}

function serveTools(server: Server): void {
  const plain = [
    ...Object.keys(RESULTS),
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
  ];
  const named = (name: string, properties: object = {}) => ({
    name,
    description: name,
    inputSchema: { type: "object" as const, properties: { ...properties } },
  });
  server.setRequestHandler(schemas.ListToolsRequestSchema, () => ({
    tools: [
      ...plain.map((name) => named(name)),
      named("test_sampling", { prompt: { type: "string" } }),
      ...Object.keys(FORMS).map((name) => named(name, { message: { type: "string" } })),
      TOOL_2020,
    ],
  }));
  server.setRequestHandler(schemas.CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: input = {}, _meta: meta } = params;
    const form = FORMS[name];
    if (form !== undefined) {
      const asked = {
        message: String(input.message ?? "Please answer."),
        requestedSchema: { type: "object", ...form },
      };
      const { action, content } = await extra.sendRequest(
        { method: "elicitation/create", params: asked },
        schemas.ElicitResultSchema,
      );
      const said = `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`;
      return { content: [text(said)] };
    }
    if (name === "test_sampling") {
      const messages = [message(text(String(input.prompt)))];
      const { content } = await extra.sendRequest(
        { method: "sampling/createMessage", params: { messages, maxTokens: 100 } },
        schemas.CreateMessageResultSchema,
      );
      return { content: [text(`LLM response: ${"text" in content ? content.text : ""}`)] };
    }
    if (name === "test_error_handling") {
      const content = [text("This tool intentionally returns an error for testing")];
      return { isError: true, content };
    }
    if (name === "test_tool_with_logging") {
      for (const data of ["started", "processing data", "completed"]) {
        const logged = { level: "info", data: `Tool execution ${data}` };
        await extra.sendNotification({ method: "notifications/message", params: logged });
        await pause();
      }
    }
    const progressToken = meta?.progressToken;
    if (name === "test_tool_with_progress" && progressToken !== undefined) {
      for (const progress of [0, 50, 100]) {
        const said = { progressToken, progress, total: 100 };
        await extra.sendNotification({ method: "notifications/progress", params: said });
        await pause();
      }
    }
    return { content: [...(RESULTS[name] ?? [text("Done.")])] };
  });
}

function serveResources(server: Server): void {
  const listed = [
    { uri: "test://static-text", name: "text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "binary", mimeType: "image/png" },
    { uri: "test://watched-resource", name: "watched", mimeType: "text/plain" },
  ];
  server.setRequestHandler(schemas.ListResourcesRequestSchema, () => ({ resources: listed }));
  server.setRequestHandler(schemas.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      { uriTemplate: "test://template/{id}/data", name: "data", mimeType: "application/json" },
    ],
  }));
  server.setRequestHandler(schemas.ReadResourceRequestSchema, ({ params: { uri } }) => {
    const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
    if (id !== undefined) {
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: "application/json", text: data }] };
    }
    const mimeType = listed.find((one) => one.uri === uri)?.mimeType ?? "";
    if (mimeType === "image/png") return { contents: [{ uri, mimeType, blob: PNG }] };
    return {
      contents: [{ uri, mimeType, text: "This is the content of the static text resource." }],
    };
  });
  server.setRequestHandler(schemas.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schemas.UnsubscribeRequestSchema, () => ({}));
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly errorMessage?: string;
}

/** The protocol's own test suite, with a server behind the gateway. */
describe("the conformance suite", () => {
  const folder = temporaryFolder();
  const alone = listening();
  let gateway: ChildProcess | undefined;
  let front = "";

  beforeAll(async () => {
    cpSync(join(import.meta.dirname, "conformance"), join(folder, "suite"), { recursive: true });
    // With the environment of this process, which may name a registry.
    execFileSync("npm", ["ci"], { cwd: join(folder, "suite"), stdio: "pipe" });
    const url = `${(await alone).url}/mcp`;
    const command = gatewayCommand(folder, {});
    const mcpServers = { conformance: { url } };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
    ({ gateway, url: front } = await startHttpGateway(command));
  });

  afterAll(async () => {
    gateway?.kill("SIGKILL");
    await (await alone).down();
    rmSync(folder, { recursive: true, force: true });
  });

  it("passes through the gateway, which adds DNS rebinding protection", async () => {
    const results = await failuresOf(front);
    expect([...results].filter(([, failed]) => failed.length > 0)).toEqual([]);
    expect(results.size).toBeGreaterThan(28);
  });

  /** Returns the failed checks of each scenario. */
  async function failuresOf(url: string): Promise<Map<string, string[]>> {
    const program = "suite/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    const output = join(folder, "results");
    const parameters = [join(folder, program), "server", "--url", url, "--output-dir", output];
    // The program exits with an error if a scenario fails.
    await new Promise((done) => execFile(process.execPath, parameters, done));
    const scenarios = readdirSync(output).toSorted();
    return new Map(
      scenarios.map((scenario) => {
        const file = join(output, scenario, "checks.json");
        const checks = JSON.parse(readFileSync(file, "utf8")) as Check[];
        const failed = checks.filter(({ status }) => status === "FAILURE");
        const label = scenario.replace(/^server-/, "").replace(/-\d{4}-.*$/, "");
        return [label, failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`)];
      }),
    );
  }
});

/** The suite's server over HTTP, with sessions. */
function listening() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const begun = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    // The library's own types disagree under exactOptionalPropertyTypes.
    await conformanceServer().connect(transport as never);
    return transport;
  };
  return startLoopback(async (request, response) => {
    const id = String(request.headers["mcp-session-id"] ?? "");
    const transport = sessions.get(id) ?? (await begun());
    await transport.handleRequest(request, response);
  });
}
