import { readFileSync } from "node:fs";
import { ProtocolError } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import type { ToolOffer } from "../src/configuration.ts";
import { isObject, parsedJson } from "../../../src/value/json.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { connectDirectly, RawError, RawServer } from "../../../test/support/raw-server.ts";

/** A call that is made directly and through the gateway. Both parts are JSON texts, as they are on the wire. */
interface Case {
  /** What it is, and a public report of it. */
  readonly title: string;
  /** The schema of the parameter `a`. Default: anything. */
  readonly schema?: object;
  readonly outputSchema?: object;
  readonly input?: string;
  readonly result?: string;
  /** The server's error of the protocol in place of a result. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** The rule of the guide that explains a difference. Without one, both ways are equal. */
  readonly rule?: "Types" | "Large results" | "Failures";
  /** What differs: the server's input or the client's result through the gateway. */
  readonly through?: { readonly input?: string; readonly content?: readonly string[] };
}

const PICTURE = '{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}';
const DEEP = "[".repeat(201) + "]".repeat(201);
const LONG = "x".repeat(1_001);
const integer = { type: "integer" };
const text = { type: "string" };
const types = "Types";

const CASES: readonly Case[] = [
  {
    title: "a long integer in a text and in structured content (claude-code#78762, go-sdk#1236)",
    result:
      '{"content":[{"type":"text","text":"{\\"id\\": 1915883588174806058}"}],"structuredContent":{"id":1915883588174806058}}',
  },
  {
    title: "a long integer as an argument (rag-rat#130)",
    schema: integer,
    input: "2574604874062343519",
  },
  {
    title: "a long integer for a text (getnote-mcp#15)",
    schema: text,
    input: "1917043659912705296",
    rule: types,
    through: { input: '"1917043659912705296"' },
  },
  { title: "digits that are a text (mcporter#63)", schema: text, input: '"2003886907"' },
  {
    title: "a text for a number (github-mcp-server#2044, azure-devops-mcp#1037, qwen-code#4966)",
    schema: integer,
    input: '"5812"',
    rule: types,
    through: { input: "5812" },
  },
  { title: "a text for a number or a text", schema: { type: ["number", "string"] }, input: '"1"' },
  {
    title: "JSON of 201 levels in a text, which is more than a value may have",
    result: JSON.stringify({ content: [{ type: "text", text: DEEP }] }),
  },
  { title: "a picture as it is (mcpproxy-go#368)", result: `{"content":[${PICTURE}]}` },
  {
    title: "a picture beside structured content (claude-code#54737)",
    result: `{"content":[{"type":"text","text":"{\\"a\\":1}"},${PICTURE}],"structuredContent":{"a":1}}`,
  },
  {
    title: "structured content alone that has a schema (IBM/mcp-context-forge#5472)",
    outputSchema: { type: "object", properties: { rows: { type: "integer" } } },
    result: '{"content":[],"structuredContent":{"rows":2}}',
  },
  {
    title: "structured content of a failure (langchain#40471, claude-code#86032)",
    result: '{"content":[],"structuredContent":{"code":"NEEDS_HUMAN"},"isError":true}',
  },
  {
    title: "_meta of a result (mcp-proxy#189)",
    result: '{"content":[],"_meta":{"shop/receipt":{"id":7}}}',
  },
  {
    title: "_meta of a long result (agentgateway/agentgateway#445, livekit/agents#5008)",
    result: `{"content":[{"type":"text","text":"${LONG}"}],"_meta":{"shop/receipt":{"id":7}}}`,
    rule: "Large results",
    through: { content: ["text", "resource_link"] },
  },
  {
    title: "long integers in a failure (StarRocks/mcp-server-starrocks#36, claude-code#86032)",
    result:
      '{"content":[],"structuredContent":{"id":-7108510333361982070,"far":1e400},"isError":true}',
  },
  {
    title: "a person has to sign in (typescript-sdk#774, strands-agents#760)",
    error: {
      code: -32_042,
      message: "Sign in first.",
      data: { elicitations: [{ mode: "url", elicitationId: "1", url: "https://a.example/" }] },
    },
  },
  {
    title: "a long failure",
    result: `{"content":[{"type":"text","text":"${LONG}"}],"isError":true}`,
    rule: "Failures",
    through: { content: ["text", "resource_link"] },
  },
];

/** Returns what the server receives and what the client gets. */
async function run(
  { schema = {}, outputSchema, input = "1", result = '{"content":[]}', error }: Case,
  how: "direct" | ToolOffer,
) {
  const inputs: string[] = [];
  const inputSchema = { type: "object", properties: { a: schema } };
  const server = new RawServer({
    "tools/list": () => ({
      tools: [{ name: "act", inputSchema, ...(outputSchema && { outputSchema }) }],
    }),
    "tools/call": ({ arguments: given }) => {
      inputs.push(JSON.stringify(given));
      if (error !== undefined) throw new RawError(error.message, error.data, error.code);
      return parsedJson(result);
    },
  });
  const { client } =
    how === "direct"
      ? { client: await connectDirectly(server) }
      : await startGateway([{ name: "raw", make: () => server }], { tools: how });
  const asked = client.callTool({ name: "act", arguments: { a: parsedJson(input) } });
  if (error !== undefined) return { input: inputs.join(), ...(await errorOf(asked)) };
  const answer = await asked;
  const { _meta: meta, ...rest } = answer;
  const { "byref/variable": _variable, ...others } = isObject(meta) ? meta : {};
  const content = answer.content.map(({ type }) => type);
  return { input: inputs.join(), said: JSON.stringify(parsedKeys(rest)), meta: others, content };
}

async function errorOf(asked: Promise<unknown>) {
  const thrown: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(ProtocolError);
  const { code, message, data } = thrown as ProtocolError;
  return { said: JSON.stringify({ code, message, data }), meta: {}, content: [] };
}

/** Sorts the keys of a result. */
function parsedKeys(said: object) {
  return Object.fromEntries(Object.entries(said).sort(([a], [b]) => (a < b ? -1 : 1)));
}

it.each(CASES)("passes the gateway as directly, or by a rule: $title", async (one) => {
  const [direct, through] = [await run(one, "direct"), await run(one, "list")];
  expect(await run(one, "search")).toEqual(through);
  if (one.rule === undefined) return expect(through).toEqual(direct);
  const { input, content } = one.through ?? {};
  expect(readFileSync("docs/guides/gateway.md", "utf8")).toContain(`- **${one.rule}`);
  expect(through.input).toBe(input === undefined ? direct.input : `{"a":${input}}`);
  expect(through.content).toEqual(content ?? direct.content);
  expect(through.meta).toEqual(direct.meta);
  expect(through).not.toEqual(direct);
});
