import { tool, type ToolSet } from "ai";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { planning, runOf } from "../../../../test/support/planning.ts";
import { finish, type Step, text, toolCall } from "../../../testing/src/testing.ts";
import { planView } from "../../src/http/plan-schemas.ts";

const any = z.any() as z.ZodType<Json>;

/** Tools without state. `flaky` fails for odd lists. */
const tools: ToolSet = {
  list: tool({
    inputSchema: z.object({ from: any, count: z.number() }),
    execute: ({ from, count }) =>
      Array.from({ length: count }, (_, id) => ({ id, of: JSON.stringify(from).length + id })),
  }),
  flaky: tool({
    inputSchema: z.object({ rows: any }),
    execute: ({ rows }) => {
      if (JSON.stringify(rows).length % 2 === 1) throw new Error("odd");
      return { rows, even: true };
    },
  }),
  pair: tool({
    inputSchema: z.object({ a: any, b: any, note: z.string() }),
    execute: (input) => input as Json,
  }),
};

/** One call of the model, by three numbers: what, on which variable, and where its result goes. */
type Choice = readonly [number, number, number];
const NAMES = ["given", "a", "b", "c"] as const;

function stepOf([what, of, to]: Choice, index: number): Step {
  const name = NAMES[of % NAMES.length] ?? "given";
  const other = NAMES[(of + to) % NAMES.length] ?? "given";
  const saved = NAMES[1 + (to % 3)] ?? "a";
  const place = { _outputPath: `$${saved}` };
  const id = `call_${index}`;
  const calls = [
    toolCall("list", { from: `$${name}`, count: (of % 4) + 1, ...place }, { id }),
    toolCall("flaky", { rows: `$${name}`, ...place }, { id }),
    toolCall(
      "pair",
      { a: `$${name}`, b: [`$${other}`, "$none"], note: `\${${name}}s, $${other}.`, ...place },
      { id },
    ),
    toolCall(
      "set_variable",
      { name: saved, value: { was: `$${name}`, text: `It is $${other}` } },
      { id },
    ),
    toolCall("set_variable", { name: saved, value: [index] }, { id }),
    toolCall("set_variable", { name: saved, value: [index], mode: "append" }, { id }),
    toolCall(
      "edit_variable",
      { name, edits: [{ op: "add", path: "/-", value: `$${other}` }], saveAs: saved },
      { id },
    ),
    toolCall(
      "edit_variable",
      { name: saved, edits: [{ op: "add", path: "/-", value: index }] },
      { id },
    ),
    [
      toolCall("list", { from: `$${name}`, count: 2, ...place }, { id: `first_${index}` }),
      toolCall(
        "pair",
        { a: `$${saved}`, b: 1, note: "", _outputPath: "$c" },
        { id: `then_${index}` },
      ),
    ].flat(),
  ];
  return [calls[what % calls.length] ?? [], finish("tool-calls")].flat(2) as Step;
}

async function valueOf(own: OwnRuntime, name: string): Promise<string | undefined> {
  const response = await own.call("GET", `/conversations/c/variables/${name}`);
  return response.status === 200 ? response.text() : undefined;
}

/** Makes a plan, approves it, and runs it on its defaults. Undefined if no call made the value. */
async function stateFrom(own: OwnRuntime, from: string): Promise<Record<string, Json> | undefined> {
  const root = "/conversations/c/plans";
  const response = await own.call("POST", root, json({ from }));
  const body: unknown = await response.json();
  if (response.status === 422 && JSON.stringify(body).includes("No call made")) return undefined;
  if (response.status !== 201) throw new Error(JSON.stringify(body));
  const { id } = planView().parse(body);
  await own.call("POST", `${root}/${id}/approve`);
  const run = await runOf(own, id, { keep: false });
  expect(run).toMatchObject({ status: "done" });
  return run.state as Record<string, Json>;
}

/** The value of a name in a run's state: of its last version. */
function lastOf(state: Record<string, Json>, name: string): Json | undefined {
  const versions = Object.keys(state).filter((key) => /^v\d+$/u.test(key));
  const later = versions.toSorted((one, other) => Number(other.slice(1)) - Number(one.slice(1)));
  const values = [...later.map((key) => (state[key] as Record<string, Json>)[name]), state[name]];
  return values.find((value) => value !== undefined);
}

const ANSWER = "Of $a: $b[0] and $c, with 1,234 typed.\n\n$a\n\n`$a` \\$b";

async function checkProgram(choices: readonly Choice[]): Promise<void> {
  const first: Choice[] = [0, 1, 2].map((to) => [0, 0, to]);
  const steps = [...[...first, ...choices].map(stepOf), [text(ANSWER), finish()] as Step];
  await withRuntime(planning(tools, { steps, agent: { outputPath: true } }), async (own) => {
    await own.call("PUT", "/conversations/c/variables/given", json([{ id: 1 }, "two"]));
    const asked = await own.call(
      "POST",
      "/conversations/c/messages",
      json({ message: "Go on." }, { accept: "text/plain" }),
    );
    expect(await asked.text()).toContain("typed");
    const history = await own.call("GET", "/conversations/c/messages");
    const { messages } = await history.json<{
      messages: { id: string; role: string; parts: { type: string; text?: string }[] }[];
    }>();
    const values = new Map<string, string>();
    for (const name of NAMES) {
      const value = await valueOf(own, name);
      if (value !== undefined) values.set(name, value);
    }
    for (const [name, value] of values) {
      const state = await stateFrom(own, `$${name}`);
      if (state !== undefined) expect(JSON.stringify(lastOf(state, name))).toBe(value);
    }
    const message = messages.find(({ role }) => role === "assistant");
    expect(message?.parts.at(-1)?.type).toBe("text");
    const state = await stateFrom(own, message?.id ?? "");
    expect(state?.["answer"]).toBe(message?.parts.at(-1)?.text);
  });
}

const choice = fc.tuple(fc.nat(8), fc.nat(3), fc.nat(2));

describe("a program made from a conversation", () => {
  it("gives the same bytes for each value and the answer", { tags: ["sampled"] }, () =>
    fc.assert(fc.asyncProperty(fc.array(choice, { minLength: 2, maxLength: 16 }), checkProgram), {
      numRuns: 20,
    }),
  );
});
