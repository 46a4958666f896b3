import { type ChildProcess, execFile, execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gatewayCommand, startHttpGateway } from "../support/gateway-process.ts";
import { startLoopback } from "../support/loopback.ts";
import { temporaryFolder } from "../support/server.ts";
import { type RawAnswer, RawServer } from "../support/raw-server.ts";

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

const RESOURCES = [
  { uri: "test://static-text", name: "text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "binary", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "watched", mimeType: "text/plain" },
];

function contentOf(uri: string) {
  const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { mimeType: "application/json", text: data };
  }
  const mimeType = RESOURCES.find((one) => one.uri === uri)?.mimeType ?? "";
  if (mimeType === "image/png") return { mimeType, blob: PNG };
  return { mimeType, text: "This is the content of the static text resource." };
}

const named = (name: string, properties: object = {}) => ({
  name,
  description: name,
  inputSchema: { type: "object", properties },
});
const TOOLS = [
  ...[...Object.keys(RESULTS), "test_tool_with_logging", "test_tool_with_progress"].map((name) =>
    named(name),
  ),
  named("test_error_handling"),
  named("test_sampling", { prompt: { type: "string" } }),
  ...Object.keys(FORMS).map((name) => named(name, { message: { type: "string" } })),
  TOOL_2020,
];

const call: RawAnswer = async ({ name: tool, arguments: given = {}, _meta: meta = {} }, wire) => {
  const [name, input] = [String(tool), given as Readonly<Record<string, unknown>>];
  const ask = async (method: string, params: object) =>
    ((await wire.ask(method, params)) as { readonly result: Readonly<Record<string, unknown>> })
      .result;
  if (FORMS[name] !== undefined) {
    const requestedSchema = { type: "object", ...FORMS[name] };
    const asked = { message: String(input.message ?? "Please answer."), requestedSchema };
    const { action, content } = await ask("elicitation/create", asked);
    const said = `Elicitation completed: action=${String(action)}, content=${JSON.stringify(content)}`;
    return { content: [text(said)] };
  }
  if (name === "test_sampling") {
    const messages = [message(text(String(input.prompt)))];
    const { content } = await ask("sampling/createMessage", { messages, maxTokens: 100 });
    return { content: [text(`LLM response: ${(content as { text: string }).text}`)] };
  }
  if (name === "test_error_handling") {
    const content = [text("This tool intentionally returns an error for testing")];
    return { isError: true, content };
  }
  if (name === "test_tool_with_logging") {
    for (const data of ["started", "processing data", "completed"]) {
      wire.notify("notifications/message", { level: "info", data: `Tool execution ${data}` });
      await pause();
    }
  }
  const { progressToken } = meta as { readonly progressToken?: unknown };
  if (name === "test_tool_with_progress" && progressToken !== undefined) {
    for (const progress of [0, 50, 100]) {
      wire.notify("notifications/progress", { progressToken, progress, total: 100 });
      await pause();
    }
  }
  return { content: RESULTS[name] ?? [text("Done.")] };
};

/** A server with everything that the suite requires. */
const conformanceServer = () =>
  new RawServer({
    "tools/list": () => ({ tools: TOOLS }),
    "tools/call": call,
    "resources/list": () => ({ resources: RESOURCES }),
    "resources/templates/list": () => ({
      resourceTemplates: [
        { uriTemplate: "test://template/{id}/data", name: "data", mimeType: "application/json" },
      ],
    }),
    "resources/read": ({ uri }) => ({ contents: [{ uri, ...contentOf(String(uri)) }] }),
    "resources/unsubscribe": () => ({}),
    "prompts/list": () => ({
      prompts: Object.keys(PROMPTS).map((name) => {
        const given = PROMPT_ARGUMENTS[name] ?? [];
        const all = given.map((one) => ({ name: one, description: one, required: true }));
        return { name, description: name, arguments: all };
      }),
    }),
    "prompts/get": ({ name, arguments: given }) => ({
      messages: PROMPTS[String(name)]?.((given ?? {}) as Record<string, string>) ?? [],
    }),
    "completion/complete": () => ({
      completion: { values: ["paris", "park"], total: 2, hasMore: false },
    }),
  });

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
