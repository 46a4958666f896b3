import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicMessages } from "../support/anthropic-messages.ts";
import {
  type EndpointRequest,
  type EndpointStep,
  type ModelEndpoint,
  type Protocol,
  startModelEndpoint,
} from "../support/model-endpoint.ts";
import { openaiResponses } from "../support/openai-responses.ts";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { messagesOf, post } from "../support/turn-client.ts";

const key = "sk-test-0123456789-never-to-be-seen";

const question = "Compare NYC and London.";
const input = { city1: "$get_weather_nyc", city2: "$get_weather_london" };
const script: readonly EndpointStep[] = [
  {
    kind: "calls",
    calls: [
      { name: "get_weather", input: { location: "NYC" } },
      { name: "get_weather", input: { location: "London" } },
    ],
  },
  { kind: "calls", calls: [{ name: "compare_weather", input }] },
  { kind: "text", text: "So: $compare_weather_1.summary In $get_weather_nyc.city, anyway." },
];

/** The parts that requests of all protocols have in common. */
interface Reading {
  readonly tools: readonly { readonly name: string; readonly schema: unknown }[];
  readonly instructions: string;
  readonly asked: readonly string[];
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  /** Results, by the ids of their calls. */
  readonly results: Readonly<Record<string, unknown>>;
}

interface Kind {
  readonly name: string;
  readonly protocol: Protocol;
  /** The path of the endpoint, as in an AI Gateway. */
  readonly base: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly settings: object;
  readonly firstCall: string;
  read(body: EndpointRequest["body"]): Reading;
  failure(message: string): object;
}

type Fields = Readonly<Record<string, unknown>>;
const list = (value: unknown) => (Array.isArray(value) ? (value as readonly Fields[]) : []);
const parsed = (value: unknown) => JSON.parse(String(value)) as unknown;
const joined = (content: unknown) =>
  typeof content === "string"
    ? content
    : list(content)
        .map(({ text }) => text ?? "")
        .join("");

const kinds: readonly Kind[] = [
  {
    name: "anthropic",
    protocol: anthropicMessages,
    base: "/v1/acct/gw/anthropic",
    path: "/v1/acct/gw/anthropic/messages",
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01" },
    settings: { model: "test-model", stream: true, max_tokens: expect.any(Number) },
    firstCall: "toolu_1_0",
    read({ system, messages, tools }) {
      const blocks = list(messages).flatMap(({ role, content }) =>
        list(content).map((block) => ({ role, ...block }) as Fields),
      );
      const of = (type: string) => blocks.filter((block) => block.type === type);
      return {
        tools: list(tools).map((tool) => ({ name: String(tool.name), schema: tool.input_schema })),
        instructions: joined(system),
        asked: of("text")
          .filter(({ role }) => role === "user")
          .map(({ text }) => String(text)),
        calls: of("tool_use").map((block) => ({ name: String(block.name), input: block.input })),
        results: Object.fromEntries(
          of("tool_result").map((block) => [block.tool_use_id, parsed(joined(block.content))]),
        ),
      };
    },
    failure: (message) => ({ type: "error", error: { type: "some_error", message } }),
  },
  {
    name: "openai",
    protocol: openaiResponses,
    base: "/v1/acct/gw/openai/",
    path: "/v1/acct/gw/openai/responses",
    headers: { authorization: `Bearer ${key}` },
    settings: { model: "test-model", stream: true, store: false },
    firstCall: "call_1_0",
    read({ input: items, tools }) {
      const of = (type: string) => list(items).filter((item) => item.type === type);
      const by = (role: string) => list(items).filter((item) => item.role === role);
      return {
        tools: list(tools).map((tool) => ({ name: String(tool.name), schema: tool.parameters })),
        instructions: [...by("system"), ...by("developer")].map((m) => joined(m.content)).join(""),
        asked: by("user").map(({ content }) => joined(content)),
        calls: of("function_call").map((item) => ({
          name: String(item.name),
          input: parsed(item.arguments),
        })),
        results: Object.fromEntries(
          of("function_call_output").map((item) => [item.call_id, parsed(joined(item.output))]),
        ),
      };
    },
    failure: (message) => ({ error: { message, type: "some_error", code: null, param: null } }),
  },
];

describe.each(kinds)("a model of $name", (kind) => {
  let endpoint: ModelEndpoint;
  let server: WorkerServer;
  let requests: readonly EndpointRequest[];
  const reading = (call: number) => kind.read(requests[call]?.body ?? {});

  beforeAll(async () => {
    endpoint = await startModelEndpoint(kind.protocol);
    server = await startWorkerServer({
      MODEL: `${kind.name}:test-model`,
      MODEL_BASE_URL: `${endpoint.url}${kind.base}`,
      MODEL_API_KEY: key,
    });
    endpoint.play(script);
    const response = await post(`${server.url}/conversations/compared`, question);
    await response.text();
    ({ requests } = endpoint);
  });

  afterAll(async () => {
    await server?.stop();
    await endpoint?.down();
  });

  it("receives a streaming request at MODEL_BASE_URL, with the key", () => {
    expect(requests.map(({ path }) => path)).toEqual(Array(3).fill(kind.path));
    for (const request of requests) {
      expect(request.headers).toMatchObject(kind.headers);
      expect(request.body).toMatchObject(kind.settings);
    }
    expect(reading(0).instructions).toMatch(/^You report the weather\./);
    expect(reading(0).asked).toEqual([question]);
  });

  describe("that fails", () => {
    const statuses = [401, 429, 500];
    const questionFor = (status: number) => `What comes of ${status}?`;
    const failed = new Map<number, { readonly response: Response; readonly said: string }>();
    const address = (status: number) => `${server.url}/conversations/failed-${status}`;

    // All at once, because failures that may be temporary are retried after a delay.
    beforeAll(async () => {
      endpoint.play((request) => {
        const asked = kind.read(request).asked.join();
        const status = statuses.find((one) => asked.includes(questionFor(one))) ?? 404;
        return { kind: "status", status, body: kind.failure(`No: ${key} is not good.`) };
      });
      await Promise.all(
        statuses.map(async (status) => {
          const accept = "application/json";
          const response = await post(address(status), questionFor(status), { accept });
          failed.set(status, { response, said: await response.text() });
        }),
      );
    });

    it.each(statuses)("returns model_failed at %d, and hides the key", async (status) => {
      const { response, said = "" } = failed.get(status) ?? {};
      expect(response?.status).toBe(502);
      expect(JSON.parse(said)).toMatchObject({
        code: "model_failed",
        detail: expect.stringContaining("No: [secret] is not good."),
      });
      const messages = await messagesOf(address(status));
      expect(`${said}${JSON.stringify(messages)}${server.output()}`).not.toContain(key);
    });
  });
});
