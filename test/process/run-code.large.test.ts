import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClientVariables, createClient } from "../../packages/client/src/client.ts";
import {
  type ChatCompletions,
  outputIn,
  startChatCompletions,
} from "../support/chat-completions.ts";
import { startLoopback } from "../support/loopback.ts";
import { type Server, startServer } from "../support/server.ts";
import { post } from "../support/turn-client.ts";

describe("run_code on a local Worker", () => {
  let endpoint: ChatCompletions;
  let server: Server;
  let conversation: string;
  let kept: ClientVariables;

  beforeAll(async () => {
    endpoint = await startChatCompletions();
    server = await startServer({
      MODEL: "openai-compatible:test-model",
      MODEL_BASE_URL: endpoint.url,
      MODEL_API_KEY: "sk-test",
    });
    conversation = `${server.url}/conversations/code`;
    ({ variables: kept } = createClient(server.url).conversation("code"));
    await kept.put("orders", [{ total: 3 }, { total: 4 }]);
  });

  afterAll(async () => {
    await server?.stop();
    await endpoint?.down();
  });

  const variables = ["orders"];
  const runs = (code: string) =>
    ({ kind: "calls", calls: [{ name: "run_code", input: { code, variables } }] }) as const;

  const ask = async (question: string) => {
    const response = await post(conversation, question, { accept: "text/plain" });
    return { status: response.status, text: await response.text() };
  };

  it("cannot reach the network", async () => {
    let requests = 0;
    const listener = await startLoopback((_, response) => {
      requests++;
      response.end("reached");
    });
    const { host, port } = new URL(listener.url);
    const code = `const url = "http://${host}/";
      const said = [];
      const attempt = async (work) => said.push(await Promise.resolve().then(work).then(String, () => "refused"));
      await attempt(async () => (await fetch(url)).text());
      await attempt(async () => (await import("cloudflare:sockets")).connect("127.0.0.1:${port}").opened);
      await attempt(() => void navigator.sendBeacon(url, "x"));
      await attempt(() => void new WebSocket(url.replace("http", "ws")));
      await attempt(() => void new EventSource(url));
      await scheduler.wait(300);
      return said.slice(0, 2);`;
    endpoint.play([runs(code), { kind: "text", text: "Done." }]);
    expect(await ask("Try it")).toEqual({ status: 200, text: "Done." });
    expect(await kept.get("run_code_1")).toEqual(["refused", "refused"]);
    expect(requests).toBe(0);
    await listener.down();
  });

  // Local workerd has no CPU limit: the system ends the process of such code.
  it("ends a loop while the server answers, and other runs go on", async () => {
    endpoint.play([runs("for (;;);"), { kind: "text", text: "There are $orders[1].total." }]);
    const answering = ask("Go on");
    const later = () => new Promise<undefined>((done) => setTimeout(done, 200));
    let answer: Awaited<typeof answering> | undefined;
    while (answer === undefined) {
      expect((await fetch(`${server.url}/agents`)).status).toBe(200);
      answer = await Promise.race([answering, later()]);
    }
    expect(answer).toEqual({ status: 200, text: "There are 4." });
    const result = endpoint.requests.at(-1)?.body.messages.findLast(({ role }) => role === "tool");
    // On a busy machine the time of the call is over first.
    expect(result?.content).toMatch(/used too much CPU time|did not finish within/);

    endpoint.play([runs("return orders.length"), { kind: "text", text: "Done." }]);
    expect(await ask("And now?")).toEqual({ status: 200, text: "Done." });
    const next = endpoint.requests.at(-1)?.body.messages.findLast(({ role }) => role === "tool");
    expect(JSON.parse(outputIn(next))).toMatchObject({ returned: { value: 2 } });
  });
});
