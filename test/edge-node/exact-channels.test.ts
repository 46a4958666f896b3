import { tool } from "ai";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { samples } from "../support/slow.ts";

const DIGITS = ["1234567890123456789", "-9007199254740993", "1e400", "0.1234567890123456789"];
const asked = finish("tool-calls");

/** A parsed JSON text whose numbers are texts of their own, as written; the platform parses it. */
function digitsOf(source: string): unknown {
  type Reviver = (key: string, value: unknown, context: { readonly source: string }) => unknown;
  const parse = JSON.parse as (written: string, reviver: Reviver) => unknown;
  return parse(source, (_, value, context) =>
    typeof value === "number" ? { number: context.source } : value,
  );
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

let hangs = false;
let hanging = false;
const tools = {
  /** Returns what it gets. */
  echo: tool({
    inputSchema: z.object({ value: z.any() }),
    execute: ({ value }) => value as unknown,
  }),
  /** Hangs until its process dies. */
  wait: tool({
    inputSchema: z.object({}),
    execute: () => {
      hanging = hangs;
      return hangs ? new Promise<string>(() => {}) : "Over.";
    },
  }),
};

function application(steps: readonly Step[]): RuntimeOptions {
  const agent = {
    name: "a",
    description: "",
    instructions: "",
    tools,
    policies: { echo: { numbers: "raw" } },
    effects: { echo: "none", wait: "none" },
    variableTools: true,
  } as const;
  return { agents: [agent], model: scriptedModel(steps), plans: planSupport() };
}

const messages = "/conversations/c/messages";
interface History {
  readonly messages: readonly {
    readonly metadata?: object;
    readonly parts: readonly { readonly text?: string }[];
  }[];
}

const path = (name: string, query = "") => `/conversations/c/variables/${name}${query}`;

async function textOf(runtime: NodeRuntime, at: string): Promise<string> {
  const response = await runtime.ask("GET", at);
  return new TextDecoder().decode(await response.arrayBuffer());
}

function put(runtime: NodeRuntime, name: string, body: string): Promise<Response> {
  return runtime.ask("PUT", path(name), { body, headers: { "content-type": "application/json" } });
}

/** JSON texts with numbers of many digits, keys of every kind and texts of every character. */
const anyText = fc.letrec<{ value: string; list: string; object: string; scalar: string }>(
  (tie) => ({
    scalar: fc.oneof(
      fc.constantFrom(...DIGITS, "0", "-1", "1.5", "1e+21", "true", "null"),
      fc.bigInt().map(String),
      fc.string({ unit: "grapheme" }).map((value) => JSON.stringify(value)),
    ),
    list: fc.array(tie("value"), { maxLength: 4 }).map((all) => `[${all.join(",")}]`),
    object: fc
      .uniqueArray(fc.tuple(fc.string({ unit: "grapheme" }), tie("value")), {
        maxLength: 4,
        selector: ([key]) => key,
      })
      .map((all) => `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`),
    value: fc.oneof({ depthSize: "small" }, tie("scalar"), tie("list"), tie("object")),
  }),
).value;

it("any value is the same in a tool, a plan, an answer, a copy, a part and after a kill", async () => {
  await fc.assert(
    fc.asyncProperty(anyText, async (source) => {
      [hangs, hanging] = [true, false];
      const steps = [
        [
          toolCall("echo", { value: "$v" }),
          toolCall("echo", { value: "$v.value" }, { id: "second" }),
          asked,
        ],
        [toolCall("wait", {}), asked],
        [text("$echo_1"), finish()],
      ];
      const runtime = new NodeRuntime(application(steps));
      const whole = `{"value":${source}}`;
      expect((await put(runtime, "v", whole)).status).toBe(201);
      expect(await textOf(runtime, path("v"))).toBe(whole);
      const [value, all] = [digitsOf(source), digitsOf(whole)];
      const same = async (at: string, expected: unknown) =>
        expect(digitsOf(await textOf(runtime, at)), at).toEqual(expected);
      // Of a text, `text/plain` comes first for a whole variable.
      const isText = typeof value === "string";
      if (!isText) await same(path("v", "?path=.value"), value);

      await runtime.ask("POST", messages, json({ message: "Go." }));
      await vi.waitFor(async () => expect(hanging).toBe(true));
      runtime.kill();
      hangs = false;
      runtime.start();
      const ended = async () => JSON.parse(await textOf(runtime, messages)) as History;
      await vi.waitFor(async () => expect((await ended()).messages[1]?.metadata).toBeDefined());
      await same(path("echo_1"), all);
      if (!isText) await same(path("echo_2"), value);
      const answer = (await ended()).messages[1]?.parts.at(-1)?.text ?? "";
      expect(digitsOf(answer.split("\n").slice(1, -1).join("\n"))).toEqual(all);

      const calls = [{ _tool: "echo", value: "†v", _outputPath: "†state.out" }];
      const plan = await runtime.ask("POST", "/conversations/c/plans", json({ calls }));
      const { id } = (await plan.json()) as { id: string };
      await runtime.ask("POST", `/conversations/c/plans/${id}/approve`);
      const running = json({ keep: true }, { accept: "application/json" });
      const run = await (
        await runtime.ask("POST", `/conversations/c/plans/${id}/run`, running)
      ).text();
      const state = (digitsOf(run) as { readonly state: { readonly out: unknown } }).state;
      expect(state.out).toEqual(all);
    }),
    { numRuns: samples(40) },
  );
});
