import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicMessages } from "../support/anthropic-messages.ts";
import { type ModelEndpoint, startModelEndpoint } from "../support/model-endpoint.ts";
import { openaiResponses } from "../support/openai-responses.ts";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { messagesOf, post } from "../support/turn-client.ts";

const key = "sk-test-0123456789-never-to-be-seen";

/** Endpoints with a path, as in an AI Gateway. */
const kinds = [
  {
    name: "anthropic",
    protocol: anthropicMessages,
    base: "/v1/acct/gw/anthropic",
    path: "/v1/acct/gw/anthropic/messages",
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01" },
    body: { model: "test-model", stream: true, max_tokens: expect.any(Number) },
  },
  {
    name: "openai",
    protocol: openaiResponses,
    base: "/v1/acct/gw/openai/",
    path: "/v1/acct/gw/openai/responses",
    headers: { authorization: `Bearer ${key}` },
    body: { model: "test-model", stream: true, store: false },
  },
];

describe.each(kinds)("a model of $name", ({ name, protocol, base, path, headers, body }) => {
  let endpoint: ModelEndpoint;
  let server: WorkerServer;

  beforeAll(async () => {
    endpoint = await startModelEndpoint(protocol);
    server = await startWorkerServer({
      MODEL: `${name}:test-model`,
      MODEL_BASE_URL: `${endpoint.url}${base}`,
      MODEL_API_KEY: key,
    });
  });

  afterAll(async () => {
    await server?.stop();
    await endpoint?.down();
  });

  it("receives a streaming request at MODEL_BASE_URL, with the key", async () => {
    const input = { location: "NYC" };
    endpoint.play([
      { kind: "calls", calls: [{ name: "get_weather", input }] },
      { kind: "text", text: "In $get_weather_nyc.city." },
    ]);
    const response = await post(`${server.url}/conversations/asked`, "Where?", {
      accept: "text/plain",
    });
    expect(await response.text()).toBe("In New York.");
    expect(endpoint.requests).toHaveLength(2);
    for (const request of endpoint.requests) {
      expect(request).toMatchObject({ path, headers, body });
      expect(JSON.stringify(request.body)).toContain("You report the weather.");
    }
  });

  it.each([401, 429, 500])("returns model_failed at %d, and hides the key", async (status) => {
    const error = { type: "some_error", message: `No: ${key} is not good.` };
    endpoint.play(() => ({ kind: "status", status, body: { type: "error", error } }));
    const address = `${server.url}/conversations/failed-${status}`;
    const response = await post(address, "Hello?", { accept: "application/json" });
    const said = await response.text();
    expect(response.status).toBe(502);
    expect(JSON.parse(said)).toMatchObject({
      code: "model_failed",
      detail: expect.stringContaining("No: [secret] is not good."),
    });
    const messages = await messagesOf(address);
    expect(`${said}${JSON.stringify(messages)}${server.output()}`).not.toContain(key);
  });
});
