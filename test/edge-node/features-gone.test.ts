import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { json } from "../chaos/writers.ts";
import { NodeObject } from "../support/node-object.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { toolOf } from "../support/tool-of.ts";

let looks = 0;

/** Hangs until its process ends. */
const look = toolOf({}, () => {
  looks++;
  return new Promise<string>(() => {});
});

const agent = {
  name: "a",
  description: "",
  instructions: "",
  tools: { look },
  effects: { look: "none" },
  approvesPlan: () => true,
} as const;

/** All features that are removed later. */
const before = (): RuntimeOptions => ({
  agents: [agent],
  model: scriptedModel([[toolCall("look", {}), finish("tool-calls")]]),
  plans: planSupport(),
  mcp: async (given) => ({ agent: given, close: () => Promise.resolve() }),
});
const model = () => scriptedModel([[text("I cannot look."), finish()]]);
const MCP_SERVERS = JSON.stringify([{ name: "files", url: "https://mcp.example/" }]);

beforeEach(() => {
  looks = 0;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
async function got<Body>({ ask }: NodeRuntime, path: string): Promise<Body> {
  return (await (await ask("GET", `/conversations/c${path}`)).json()) as Body;
}

it.each<{ what: string; options?: Partial<RuntimeOptions>; bindings?: object; code: string }>([
  { what: "its agent is gone", options: { agents: [{ ...agent, name: "b" }] }, code: "not_found" },
  { what: "MCP is no longer built in", bindings: { MCP_SERVERS }, code: "bad_configuration" },
  { what: "a setting is wrong", bindings: { AUTH: "?" }, code: "bad_configuration" },
  {
    what: "an agent that it may delegate to is gone",
    options: { agents: [{ ...agent, delegates: ["b"] }] },
    code: "not_found",
  },
])("a turn after a crash ends with an error if $what", async ({ options, bindings = {}, code }) => {
  const runtime = new NodeRuntime(before(), "MCP_SERVERS" in bindings ? bindings : {});
  void runtime.ask("POST", "/conversations/c/messages", json({ message: "Look" }));
  await vi.waitUntil(() => looks > 0 && runtime.objectOf("c").isRinging);
  runtime.kill();
  const { mcp: _mcp, plans: _plans, ...left } = before();
  runtime.start({ ...left, model: model(), ...options }, bindings);
  /** The next alarm is more than an hour away. */
  const isClosed = () => {
    const { isRinging, alarmMs } = runtime.objectOf("c");
    return !isRinging && (alarmMs ?? 0) > Date.now() + 3_600_000;
  };
  await vi.waitUntil(isClosed);
  // Requests need valid settings.
  runtime.start(undefined, { AUTH: "none" });
  await vi.waitUntil(isClosed);
  expect(await got(runtime, "")).toMatchObject({ status: "idle" });
  const { messages } = await got<{ messages: readonly StoredMessage[] }>(runtime, "/messages");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(messages[1]?.metadata).toMatchObject({ error: code });
  const { events } = await got<{ events: readonly ConversationEvent[] }>(runtime, "/events");
  expect(events.at(-1)).toMatchObject({ type: "turn.failed", code });
});

it("a run that a crash interrupted ends if there are no plans any more, and has failed when there are again", async () => {
  const runtime = new NodeRuntime(before());
  const proposed = json({ calls: [{ _tool: "look" }] });
  const response = await runtime.ask("POST", "/conversations/c/plans", proposed);
  const { id } = (await response.json()) as { id: string };
  void runtime.ask("POST", `/conversations/c/plans/${id}/run`, json({}));
  await vi.waitUntil(() => looks > 0 && runtime.objectOf("c").isRinging);
  runtime.kill();
  const { plans: _, ...left } = before();
  runtime.start({ ...left, model: model() });
  const eventsOf = () => got<{ events: readonly ConversationEvent[] }>(runtime, "/events");
  await vi.waitUntil(async () => (await eventsOf()).events.at(-1)?.type === "run.failed");
  expect((await eventsOf()).events.at(-1)).toMatchObject({ code: "bad_configuration" });
  const said = await runtime.ask("POST", "/conversations/c/messages", json({ message: "Look" }));
  expect(await said.text()).toContain("I cannot look.");
  runtime.kill();
  runtime.start(before());
  const error = expect.stringContaining("outcome_unknown: ");
  expect(await got(runtime, `/plans/${id}`)).toMatchObject({ runs: [{ status: "failed", error }] });
});

it("turns that a restart has interrupted together go on within two seconds, and at once where a client asks", async () => {
  NodeObject.isSpread = true;
  onTestFinished(() => void (NodeObject.isSpread = false));
  const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
  const model = scriptedModel(names.map(() => [toolCall("look", {}), finish("tool-calls")].flat()));
  const runtime = new NodeRuntime({ agents: [agent], model });
  for (const name of names) {
    void runtime.ask("POST", `/conversations/${name}/messages`, json({ message: "Look" }));
  }
  await vi.waitUntil(() => looks === 100 && runtime.objectOf("c99").isRinging);
  runtime.kill();
  looks = 0;
  const { setTimeout: pause } = globalThis;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  runtime.start();
  await runtime.ask("GET", "/conversations/c1");
  const perTenth = [];
  for (let tenth = 0; tenth <= 20; tenth++) {
    const earlier = looks;
    await vi.advanceTimersByTimeAsync(tenth === 0 ? 0 : 100);
    // What goes on waits for digests, too, which are not timers.
    for (let round = 0; round < (tenth === 0 ? 50 : 2); round++) {
      await new Promise((resolve) => pause(resolve, 20));
      await vi.advanceTimersByTimeAsync(0);
    }
    perTenth.push(looks - earlier);
  }
  // All at once without a pause; the first is the one that a client asks for.
  expect(perTenth[0]).toBe(1);
  expect(Math.max(...perTenth)).toBeLessThan(15);
  expect(looks).toBe(100);
});
