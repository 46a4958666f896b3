import { expect, it, vi } from "vitest";
import * as z from "zod";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { toolOf } from "../support/tool-of.ts";

const asked = finish("tool-calls");
const messages = "/conversations/c/messages";
const path = (name: string, query = "") => `/conversations/c/variables/${name}${query}`;

async function textOf(runtime: NodeRuntime, at: string): Promise<string> {
  const response = await runtime.ask("GET", at);
  return new TextDecoder().decode(await response.arrayBuffer());
}

it.each([
  "[1234567890123456789,-9007199254740993,1e400,0.1234567890123456789,1e+21,-1]",
  '{"é😀":{"id":1234567890123456789},"":[[],{}],"a b":null}',
  '["1234567890123456789","é€😀 $v {{v}} ```",[true,{"n":1e400}]]',
])("%s is the same in a tool, a plan, an answer, a part and after a kill", async (source) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let [hangs, isHanging] = [true, false];
  const tools = {
    /** Returns what it gets. */
    echo: toolOf({ value: z.any() }, ({ value }) => value as unknown),
    /** Hangs until its process dies. */
    wait: toolOf({}, () => {
      isHanging = hangs;
      return hangs ? new Promise<string>(() => {}) : "Over.";
    }),
  };
  const model = scriptedModel([
    [
      toolCall("echo", { value: "$v" }),
      toolCall("echo", { value: "$v.value" }, { id: "second" }),
      asked,
    ],
    [toolCall("wait", {}), asked],
    [text("$echo_1"), finish()],
  ]);
  const policies = { echo: { numbers: "raw" } } as const;
  const effects = { echo: "none", wait: "none" } as const;
  const about = { name: "a", description: "", instructions: "", variableTools: true };
  const agent = { ...about, tools, policies, effects };
  const runtime = new NodeRuntime({ agents: [agent], model, plans: planSupport() });
  const whole = `{"value":${source}}`;
  const init = { body: whole, headers: { "content-type": "application/json" } };
  expect((await runtime.ask("PUT", path("v"), init)).status).toBe(201);
  expect(await textOf(runtime, path("v", "?path=.value"))).toBe(source);

  await runtime.ask("POST", messages, json({ message: "Go." }));
  await vi.waitFor(() => expect(isHanging).toBe(true));
  runtime.kill();
  hangs = false;
  runtime.start();
  const answer = () => textOf(runtime, messages);
  await vi.waitFor(async () => expect(await answer()).toContain('"rowsWritten"'));
  expect(await textOf(runtime, path("echo_1"))).toBe(whole);
  expect(await textOf(runtime, path("echo_2"))).toBe(source);
  for (const digits of source.match(/\d{10,}|1e\+?\d+/gu) ?? []) {
    expect(await answer()).toContain(digits);
  }

  const calls = [{ _tool: "echo", value: "†v", _outputPath: "†state.out" }];
  const plan = await runtime.ask("POST", "/conversations/c/plans", json({ calls }));
  const { id } = (await plan.json()) as { id: string };
  await runtime.ask("POST", `/conversations/c/plans/${id}/approve`);
  const running = json({ keep: true }, { accept: "application/json" });
  const run = await runtime.ask("POST", `/conversations/c/plans/${id}/run`, running);
  expect(await run.text()).toContain(`"out":${whole}`);
});
