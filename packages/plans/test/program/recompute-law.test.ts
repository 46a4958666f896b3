import { tool, type ToolSet } from "ai";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { planning } from "../../../../test/support/planning.ts";
import { sampled, samples } from "../../../../test/support/slow.ts";
import { finish, type Step, text, toolCall } from "../../../testing/src/testing.ts";
import { recomputation, runView } from "../../src/http/plan-schemas.ts";

/** What a call is, and which of the values before it it reads. */
type Choice = readonly [kind: number, one: number, other: number];
/** Which value a person writes. */
type Edit = readonly [of: number, value: number];

const SOURCES = ["s0", "s1", "s2"];
const nameOf = (index: number) =>
  index < SOURCES.length ? `s${index}` : `v${index - SOURCES.length}`;

/** The values that a call reads. */
function readBy([, one, other]: Choice, index: number): readonly string[] {
  const before = SOURCES.length + index;
  return [nameOf(one % before), nameOf(other % before)];
}

function callOf(choice: Choice, index: number) {
  const [one = "", other = ""] = readBy(choice, index);
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
  return calls[choice[0] % calls.length] ?? calls[0];
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

async function checkRecompute(choices: readonly Choice[], edits: readonly Edit[]): Promise<void> {
  const given = new Map(
    edits.map(([of, value]) => [
      nameOf(of % (SOURCES.length + choices.length)),
      [`given ${value}`, value],
    ]),
  );
  const dirty = new Set(given.keys());
  const again: number[] = [];
  for (const [index, choice] of choices.entries()) {
    if (given.has(`v${index}`) || !readBy(choice, index).some((name) => dirty.has(name))) continue;
    dirty.add(`v${index}`);
    if (callOf(choice, index)[0] === "make") again.push(index);
  }
  const calls = choices.map(callOf);
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

const choice = fc.tuple(fc.nat(3), fc.nat(60), fc.nat(60));
const edit = fc.tuple(fc.nat(60), fc.nat(9));

it(
  "a recompute after random edits equals starting over, and runs no call whose inputs did not change",
  sampled,
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(choice, { minLength: 5, maxLength: 40 }),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        checkRecompute,
      ),
      { numRuns: samples(60), endOnFailure: true },
    ),
);
