import { tool, type ToolSet } from "ai";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { planning, runOf } from "../../../../test/support/planning.ts";
import { finish, type Step, text, toolCall } from "../../../testing/src/testing.ts";
import { planView, recomputation, runView } from "../../src/http/plan-view.ts";
import { sampled, samples } from "../../../../test/support/slow.ts";

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
  const call = (tool: string, input: object, id = `call_${index}`) => toolCall(tool, input, { id });
  const add = (value: Json) => [{ op: "add", path: "/-", value }];
  const both = { a: `$${name}`, b: [`$${other}`, "$none"], note: `\${${name}}s, $${other}.` };
  const calls = [
    call("list", { from: `$${name}`, count: (of % 4) + 1, ...place }),
    call("flaky", { rows: `$${name}`, ...place }),
    call("pair", { ...both, ...place }),
    call("set_variable", { name: saved, value: { was: `$${name}`, text: `It is $${other}` } }),
    call("set_variable", { name: saved, value: [index] }),
    call("set_variable", { name: saved, value: [index], mode: "append" }),
    call("edit_variable", { name, edits: add(`$${other}`), saveAs: saved }),
    call("edit_variable", { name: saved, edits: add(index) }),
    [
      call("list", { from: `$${name}`, count: 2, ...place }, `first_${index}`),
      call("pair", { a: `$${saved}`, b: 1, note: "", _outputPath: "$c" }, `then_${index}`),
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

it(
  "a program made from a conversation gives the same bytes for each value and the answer",
  { tags: ["sampled"] },
  () =>
    fc.assert(fc.asyncProperty(fc.array(choice, { minLength: 2, maxLength: 16 }), checkProgram), {
      numRuns: 20,
    }),
);

/** What a call is, and which of the values before it it reads. */
type Derivation = readonly [kind: number, one: number, other: number];
/** Which value a person writes. */
type Edit = readonly [of: number, value: number];

const SOURCES = ["s0", "s1", "s2"];
const nameOf = (index: number) =>
  index < SOURCES.length ? `s${index}` : `v${index - SOURCES.length}`;

/** The values that a call reads. */
function readBy([, one, other]: Derivation, index: number): readonly string[] {
  const before = SOURCES.length + index;
  return [nameOf(one % before), nameOf(other % before)];
}

function callOf(derivation: Derivation, index: number) {
  const [one = "", other = ""] = readBy(derivation, index);
  const name = `v${index}`;
  const calls = [
    ["make", { id: index, of: [`$${one}`, `It is $${other}[0].`], _outputPath: `$${name}` }],
    [
      "make",
      { id: index, of: { [one]: `$${one}[0:2]`, other: `$${other}` }, _outputPath: `$${name}` },
    ],
    ["set_variable", { name, value: [`$${one}[0]`, `\${${other}}`.length, `$${other}[1]`] }],
    [
      "edit_variable",
      { name: one, edits: [{ op: "replace", path: "/1", value: `$${other}[0]` }], saveAs: name },
    ],
  ] as const;
  return calls[derivation[0] % calls.length] ?? calls[0];
}

const PER_TURN = 15;

/** The values of a conversation that makes these calls. */
function conversation<Result>(
  calls: readonly (readonly [string, object])[],
  work: (own: OwnRuntime, made: number[]) => Promise<Result>,
  sources: readonly Json[] = SOURCES.map((name) => [name, name.length]),
): Promise<Result> {
  const made: number[] = [];
  const tools: ToolSet = {
    make: tool({
      inputSchema: z.object({ id: z.number(), of: z.any() }),
      execute: ({ id, of }) => {
        made.push(id);
        const given = JSON.stringify(of);
        let sum = 0;
        for (const character of given) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1e9;
        return [`${id}: ${sum}`, given.length];
      },
    }),
  };
  const steps = calls.flatMap(([name, input], index): Step[] => {
    const call: Step = [...toolCall(name, input, { id: `c${index}` }), ...finish("tool-calls")];
    const isLast = index % PER_TURN === PER_TURN - 1 || index === calls.length - 1;
    return isLast ? [call, [...text("Done."), ...finish()]] : [call];
  });
  return withRuntime(planning(tools, { steps, agent: { outputPath: true } }), async (own) => {
    for (const [index, value] of sources.entries()) await put(own, `s${index}`, value);
    for (let asked = 0; asked < calls.length; asked += PER_TURN) {
      const init = json({ message: "Go on." }, { accept: "text/plain" });
      const answer = await own.call("POST", "/conversations/c/messages", init);
      expect(await answer.text()).toBe("Done.");
    }
    return work(own, made);
  });
}

const put = (own: OwnRuntime, name: string, value: Json) =>
  own.call("PUT", `/conversations/c/variables/${name}`, json(value));

async function valuesOf(own: OwnRuntime) {
  const list = await own.call("GET", "/conversations/c/variables");
  const { variables } = await list.json<{ variables: { name: string; stale?: object }[] }>();
  const values: Record<string, string> = {};
  for (const { name } of variables)
    values[name] = await (await own.call("GET", `/conversations/c/variables/${name}`)).text();
  return { values, stale: variables.filter(({ stale }) => stale !== undefined) };
}

async function recomputed(own: OwnRuntime) {
  const init = json({ run: true }, { accept: "application/json" });
  const response = await own.call("POST", "/conversations/c/recompute", init);
  const body: unknown = await response.json();
  const none = recomputation().safeParse(body);
  if (none.success) expect(none.data).toEqual({ calls: [], left: [] });
  else expect(runView().parse(body)).toMatchObject({ status: "done" });
}

async function checkRecompute(
  derivations: readonly Derivation[],
  edits: readonly Edit[],
): Promise<void> {
  const given = new Map(
    edits.map(([of, value]) => [
      nameOf(of % (SOURCES.length + derivations.length)),
      [`given ${value}`, value],
    ]),
  );
  const dirty = new Set(given.keys());
  const again: number[] = [];
  for (const [index, derivation] of derivations.entries()) {
    if (given.has(`v${index}`) || !readBy(derivation, index).some((name) => dirty.has(name)))
      continue;
    dirty.add(`v${index}`);
    if (callOf(derivation, index)[0] === "make") again.push(index);
  }
  const calls = derivations.map(callOf);
  const found = await conversation(calls, async (own, made) => {
    for (const [name, value] of given) await put(own, name, value);
    made.length = 0;
    await recomputed(own);
    expect(made.toSorted((one, other) => one - other)).toEqual(again);
    await recomputed(own);
    expect(made).toHaveLength(again.length);
    return valuesOf(own);
  });
  expect(found.stale).toEqual([]);
  expect(Object.keys(found.values)).toHaveLength(SOURCES.length + calls.length);
  const over = calls.map((call, index) => {
    const value = given.get(`v${index}`);
    return value === undefined ? call : (["set_variable", { name: `v${index}`, value }] as const);
  });
  const sources = SOURCES.map((name) => given.get(name) ?? [name, name.length]);
  const started = await conversation(over, valuesOf, sources);
  for (const name of dirty)
    expect([name, found.values[name]]).toEqual([name, started.values[name]]);
}

const derivation = fc.tuple(fc.nat(3), fc.nat(60), fc.nat(60));
const edit = fc.tuple(fc.nat(60), fc.nat(9));

it(
  "a recompute after random edits equals starting over, and runs no call whose inputs did not change",
  sampled,
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(derivation, { minLength: 5, maxLength: 40 }),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        checkRecompute,
      ),
      { numRuns: samples(60), endOnFailure: true },
    ),
);
