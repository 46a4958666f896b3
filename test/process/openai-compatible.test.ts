import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ChatCompletions,
  type ChatStep,
  startChatCompletions,
} from "../support/chat-completions.ts";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { chunksIn, messagesOf, post, textIn, textOf } from "../support/turn-client.ts";

const key = "sk-test-0123456789-never-to-be-seen";
let endpoint: ChatCompletions;
let server: WorkerServer;
let conversation: string;
let count = 0;

beforeAll(async () => {
  endpoint = await startChatCompletions();
  server = await startWorkerServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MODEL_API_KEY: key,
  });
});

afterAll(async () => {
  await server?.stop();
  await endpoint?.down();
});

beforeEach(() => {
  conversation = `${server.url}/conversations/chat-${++count}`;
});

const answer: ChatStep = { kind: "text", text: "Fine, thank you." };

describe("a turn with tool calls by reference", () => {
  const question = "Compare NYC and London.";
  const script: readonly ChatStep[] = [
    {
      kind: "calls",
      calls: [
        { name: "get_weather", input: { location: "NYC" } },
        { name: "get_weather", input: { location: "London" } },
      ],
    },
    {
      kind: "calls",
      calls: [
        {
          name: "compare_weather",
          input: { city1: "$get_weather_nyc", city2: "$get_weather_london" },
        },
      ],
    },
    { kind: "text", text: "So: $compare_weather_1.summary In $get_weather_nyc.city, anyway." },
  ];
  let body: string;
  let requests: ChatCompletions["requests"];

  beforeAll(async () => {
    endpoint.play(script);
    const response = await post(`${server.url}/conversations/compared`, question);
    expect(response.status).toBe(200);
    body = await response.text();
    ({ requests } = endpoint);
  });

  it("sends valid chat completion requests", () => {
    expect(requests.map(({ path }) => path)).toEqual(Array(3).fill("/v1/chat/completions"));
    for (const { headers, body: asked } of requests) {
      expect(headers.authorization).toBe(`Bearer ${key}`);
      expect(headers["content-type"]).toMatch(/^application\/json/);
      expect(asked).toMatchObject({
        model: "test-model",
        stream: true,
        stream_options: { include_usage: true },
      });
    }
    const [system, user, ...others] = requests[0]?.body.messages ?? [];
    expect(system?.role).toBe("system");
    expect(system?.content).toMatch(/^You report the weather\./);
    expect(user).toEqual({ role: "user", content: question });
    expect(others).toEqual([]);
  });

  it("offers the tools with schemas that accept references", () => {
    const tools = requests[0]?.body.tools ?? [];
    expect(tools.map((tool) => [tool.type, tool.function.name])).toEqual([
      ["function", "get_weather"],
      ["function", "compare_weather"],
      ["function", "set_variable"],
      ["function", "run_code"],
      ["function", "propose_plan"],
    ]);
    const { parameters } = tools[1]?.function ?? {};
    const types = expect.arrayContaining(["object", "string"]);
    expect(parameters).toMatchObject({
      type: "object",
      properties: { city1: { type: types }, city2: { type: types } },
    });
  });

  it("gives the tool the values, and the person the text with the values", async () => {
    const chunks = chunksIn(body);
    const outputs = chunks.filter((chunk) => chunk.type === "tool-output-available");
    expect(outputs.at(-1)?.output).toMatchObject({
      $var: "compare_weather_1",
      value: { summary: expect.stringMatching(/New York.*London|London.*New York/) },
    });
    const text = textIn(chunks);
    expect(text).toMatch(/^So: .+°C.+ In New York, anyway\.$/);
    expect(text).not.toContain("$");
    expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
    const stored = await messagesOf(`${server.url}/conversations/compared`, { form: "reference" });
    expect(textOf(stored.at(-1))).toBe(
      "So: $compare_weather_1.summary In $get_weather_nyc.city, anyway.",
    );
  });
});

interface Failing {
  readonly name: string;
  readonly step: ChatStep | "down";
  readonly partial?: string;
}

const failing: readonly Failing[] = [
  { name: "an endpoint that is down", step: "down" },
  {
    name: "401",
    step: { kind: "status", status: 401, body: JSON.stringify({ error: { message: "Go away" } }) },
  },
  {
    name: "a connection that is cut in mid-stream",
    step: { kind: "cut", text: "The first half and the second" },
    partial: "The first half ",
  },
];
const accepts = ["text/event-stream", "application/json", "text/plain"] as const;

describe("a turn that fails", () => {
  const questionFor = (name: string) => `How are you, after ${name}?`;
  const addressOf = (name: string, accept: string) =>
    `${server.url}/conversations/${`${name} ${accept}`.replaceAll(/\W/gu, "-")}`;
  const failed = new Map<string, { readonly response: Response; readonly body: string }>();
  const fail = async ({ name }: Failing, accept: string) => {
    const address = addressOf(name, accept);
    const response = await post(address, questionFor(name), { accept });
    failed.set(address, { response, body: await response.text() });
  };
  const failAll = (all: readonly Failing[]) =>
    Promise.all(all.flatMap((one) => accepts.map((accept) => fail(one, accept))));

  // All at once, because failures that may be temporary are retried after a delay.
  beforeAll(async () => {
    endpoint.play(({ messages }) => {
      const asked = messages.map(({ content }) => content).join();
      const step = failing.find(({ name }) => asked.includes(questionFor(name)))?.step ?? "down";
      return step === "down" ? answer : step;
    });
    await failAll(failing.filter(({ step }) => step !== "down"));
    await endpoint.down();
    await failAll(failing.filter(({ step }) => step === "down"));
    await endpoint.up();
  });

  describe.each(failing)("$name", ({ name, partial = "" }) => {
    const question = questionFor(name);
    const address = (accept: string) => addressOf(name, accept);
    const failure = (accept: (typeof accepts)[number]) => {
      const { response, body = "" } = failed.get(address(accept)) ?? {};
      return { response, body };
    };

    it("ends the stream with an error part, and keeps the question and the partial answer", async () => {
      const { response, body } = failure("text/event-stream");
      expect(response?.status).toBe(200);
      const chunks = chunksIn(body);
      const last = chunks.at(-1);
      expect(last?.type === "error" && last.errorText).toMatch(/^model_failed: ./);
      const lastTry = chunks.findLastIndex(({ type }) => type === "reset-step");
      expect(textIn(chunks.slice(lastTry + 1))).toBe(partial);
      expect(body).toMatch(/data: \[DONE\]\n\n$/);

      const messages = await messagesOf(address("text/event-stream"));
      expect(messages[0]).toMatchObject({
        role: "user",
        parts: [{ type: "text", text: question }],
      });
      expect(messages.slice(1).map(textOf).join("")).toBe(partial);
      expect(`${body}${JSON.stringify(messages)}`).not.toContain(key);
    });

    it("returns a 502 problem document with a code for JSON", () => {
      const { response, body } = failure("application/json");
      expect(response?.status).toBe(502);
      expect(response?.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      const document = JSON.parse(body) as unknown;
      expect(document).toMatchObject({ status: 502, code: "model_failed" });
      expect(body).not.toContain(key);
    });

    it("is reported in the last line of plain text", () => {
      const { body } = failure("text/plain");
      expect(body.trimEnd().split("\n").at(-1)).toMatch(/^\[error: model_failed\] ./);
      expect(body.startsWith(partial)).toBe(true);
      expect(body).not.toContain(key);
    });

    it("does not prevent an answer to the next message", async () => {
      endpoint.play([answer]);
      const talk = address("text/event-stream");
      const response = await post(talk, "And now?", { accept: "text/plain" });
      expect(await response.text()).toBe("Fine, thank you.");
      const asked = endpoint.requests[0]?.body;
      const roles = asked?.messages.map(({ role }) => role) ?? [];
      expect(roles.at(-1)).toBe("user");
      // Chat templates want roles to alternate, so a question without an answer is joined with the next.
      expect(asked?.messages.at(-1)?.content).toMatch(/^(?:.+\n\n)?And now\?$/u);
      expect(roles.filter((role, at) => role === roles[at - 1])).toEqual([]);
      // Endpoints reject an assistant message without text and calls.
      const empty = asked?.messages.filter(
        ({ role, content, tool_calls: calls }) =>
          role === "assistant" && (content ?? "") === "" && (calls ?? []).length === 0,
      );
      expect(empty).toEqual([]);
      expect((await messagesOf(talk)).map(textOf).at(-1)).toBe("Fine, thank you.");
    });
  });
});

it.each(["text/event-stream", "application/json", "text/plain"])(
  "hides the key in %s when the endpoint repeats it",
  async (accept) => {
    const message = `Incorrect API key provided: ${key}.`;
    endpoint.play([{ kind: "status", status: 401, body: JSON.stringify({ error: { message } }) }]);
    const said = await (await post(conversation, "How are you?", { accept })).text();
    expect(said).toContain("model_failed");
    expect(said).not.toContain(key);
    expect(JSON.stringify(await messagesOf(conversation))).not.toContain(key);
  },
);

it("keeps the key out of all responses, output and request bodies", async () => {
  endpoint.play([answer]);
  await (await post(conversation, "How are you?")).text();
  const served = await Promise.all(
    ["", "/agents", "/health", `/conversations/chat-${count}/variables`].map(async (path) =>
      (await fetch(`${server.url}${path}`)).text(),
    ),
  );
  expect(served.join("\n")).not.toContain(key);
  expect(server.output()).not.toContain(key);
  expect(JSON.stringify(endpoint.requests.map((request) => request.body))).not.toContain(key);
});
