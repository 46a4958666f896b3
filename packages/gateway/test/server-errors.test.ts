import {
  type Client,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { reasonOf } from "../src/servers/server-errors.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import {
  connectDirectly,
  type RawAnswer,
  RawError,
  RawServer,
} from "../../../test/support/raw-server.ts";

describe("the reason why a server does not answer", () => {
  const http = (status: number, statusText: string, text?: string) =>
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "Error POSTing to endpoint: x", {
      status,
      statusText,
      ...(text !== undefined && { text }),
    });
  const system = (message: string, code: string) => Object.assign(new Error(message), { code });
  const failed = (cause: unknown) => new TypeError("fetch failed", { cause });
  const refused = system("connect ECONNREFUSED ::1:9", "ECONNREFUSED");
  const PAGE = `<!DOCTYPE html>
<html><head>
  <title>502 Bad
    Gateway</title><style>h1 { color: red }</style></head>
<body><h1>Sorry</h1>${"<p>x</p>".repeat(50)}</body></html>`;

  it.each([
    [failed(refused), "fetch failed: connect ECONNREFUSED ::1:9."],
    [
      new SdkError(SdkErrorCode.EraNegotiationFailed, "Probe failed: fetch failed", undefined, {
        cause: failed(system("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT")),
      }),
      "Probe failed: fetch failed: self-signed certificate.",
    ],
    [new Error("It is bad", { cause: new Error("[{ a dump }]") }), "It is bad."],
    [http(502, "Bad Gateway", PAGE), "HTTP 502 Bad Gateway."],
    [
      http(400, "Bad Request", '{"error":"<b>no</b>"}'),
      'HTTP 400 Bad Request: {"error":"<b>no</b>"}',
    ],
    [new Error("Parsing failed at <html>"), "Parsing failed at <html>."],
    [new ProtocolError(-32603, `${PAGE} (HTTP 401)`), `${PAGE} (HTTP 401)`],
    [
      new Error(`Error POSTing to endpoint (HTTP 502): ${PAGE}`),
      "Error POSTing to endpoint (HTTP 502)",
    ],
  ])("says what happened: %s", (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });

  it.each([
    http(401, "Unauthorized", PAGE),
    new Error("SSE error: Non-200 status code (401)"),
    new Error("Error POSTing to endpoint (HTTP 401): null"),
  ])("says at 401 where a token belongs: %s", (error) => {
    expect(reasonOf(error)).toMatch(/ A token belongs into "headers" of the server: .*\.$/u);
    expect(reasonOf(error)).toContain("401");
  });
});

const LONG = `Why: ${"because ".repeat(500)}`;
const URLS = {
  elicitations: [
    { mode: "url", elicitationId: "1", url: "https://shop.example/pay", message: "Pay" },
  ],
  more: 1,
};

/** A server that answers all requests in this way. */
function answering(answer: RawAnswer) {
  return new RawServer({
    "tools/list": () => ({ tools: [{ name: "act", inputSchema: { type: "object" } }] }),
    "prompts/list": () => ({ prompts: [{ name: "greet" }] }),
    "resources/list": () => ({ resources: [{ name: "page", uri: "test://page" }] }),
    "tools/call": answer,
    "prompts/get": answer,
    "resources/read": answer,
    "resources/subscribe": answer,
    "resources/unsubscribe": answer,
    "completion/complete": answer,
  });
}

const REQUESTS = [
  ["a tool", "tools/call", { name: "act", arguments: {} }],
  ["a prompt", "prompts/get", { name: "greet", arguments: {} }],
  ["a resource", "resources/read", { uri: "test://page" }],
  ["a subscription", "resources/subscribe", { uri: "test://page" }],
  ["the end of a subscription", "resources/unsubscribe", { uri: "test://page" }],
  [
    "a completion",
    "completion/complete",
    { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "a", value: "b" } },
  ],
] as const;

/** Sends a request as it is, and returns the message that answers it. */
async function answerTo(client: Client, method: string, params: object) {
  const { transport } = client;
  const answered = new Promise<JSONRPCMessage>((resolve) => {
    if (transport === undefined) return;
    transport.onmessage = (message) => {
      if ("id" in message && message.id === "raw" && !("method" in message)) resolve(message);
    };
  });
  await transport?.send({ jsonrpc: "2.0", id: "raw", method, params: { ...params } });
  return answered;
}

async function through(server: RawServer): Promise<Client> {
  return (await startGateway([{ name: "shop", make: () => server }])).client;
}

describe.each(REQUESTS)("an error of the protocol for %s", (_what, method, params) => {
  it.each([
    ["-32042 with an address for the person", new RawError("Pay first", URLS, -32_042)],
    ["-32602 with data", new RawError("Wrong", { uri: "test://page", more: 1 }, -32_602)],
    ["-32002 with data", new RawError("Not found", { uri: "test://page", more: 1 }, -32_002)],
    ["a code of its own, with a text as data", new RawError("Over quota", "10", 4_711)],
    ["more than 1,000 characters", new RawError(LONG, { LONG }, -32_603)],
  ])("is that of the server: %s", async (_case, error) => {
    const refuse = () => {
      throw error;
    };
    const answers = await Promise.all(
      [connectDirectly, through].map(async (connect) =>
        answerTo(await connect(answering(refuse)), method, params),
      ),
    );
    expect(answers[1]).toEqual(answers[0]);
    const { code, message, data } = error;
    expect(answers[1]).toMatchObject({
      error: { code, message, ...(data !== undefined && { data }) },
    });
  });
});

it("an error that asks a person to open an address is passed on as it is", async () => {
  const address = { url: "https://shop.example", headers: { "X-Api-Key": "shop-key-1" } };
  const make = () =>
    answering(() => {
      throw new RawError("Pay", { key: "shop-key-1" }, -32_042);
    });
  const { call } = await startGateway([{ name: "shop", make, address }]);
  await expect(call("act")).rejects.toMatchObject({ data: { key: "shop-key-1" } });
});

const accepted = { action: "accept", content: { name: "a" } };
const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
const yes = { role: "assistant", model: "m", content: { type: "text", text: "yes" } };

describe.each([
  ["sampling/createMessage", { messages: [], maxTokens: 9 }, yes],
  ["elicitation/create", form, accepted],
  ["roots/list", {}, { roots: [{ uri: "file:///work" }] }],
] as const)("a question of a server, %s,", (method, params, answer) => {
  /** Starts a client that answers so, and calls the tool that asks. */
  async function ask(onAsked: (meta: unknown) => object, options: object) {
    const answers: unknown[] = [];
    const _meta = { "a/b": 1, progressToken: "its" };
    const server = answering(async (_params, wire) => {
      answers.push(await wire.ask(method, { ...params, _meta }));
      return { content: [] };
    });
    const { client, call } = await startGateway([{ name: "shop", make: () => server }], options);
    if ("capabilities" in options)
      client.setRequestHandler(method, (asked) => onAsked(asked.params?._meta) as never);
    await call("act");
    return answers;
  }

  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: {} };

  it("gets the client's answer, of versions that have it with _meta both ways", async () => {
    const seen: unknown[] = [];
    const answered = { ...answer, _meta: { "x/y": [1] } };
    const say = (meta: unknown) => {
      seen.push(meta);
      return answered;
    };
    expect(await ask(say, { capabilities })).toMatchObject([{ result: answered }]);
    expect(seen).toMatchObject([{ "a/b": 1 }]);
    expect(JSON.stringify(seen)).not.toContain("its");
    const modern = await ask(() => answer, { capabilities, era: "modern" });
    expect(modern).toMatchObject([{ result: answer }]);
  });

  it("gets the client's error with its code and data, and one if it cannot be asked", async () => {
    const refuse = () => {
      throw new RawError("The person refused.", { by: "hand" }, -1);
    };
    const error = { code: -1, message: "The person refused.", data: { by: "hand" } };
    expect(await ask(refuse, { capabilities })).toMatchObject([{ error }]);
    expect(await ask(refuse, {})).toMatchObject([{ error: {} }]);
  });
});
