import { tool } from "ai";
import fc from "fast-check";
import * as z from "zod";
import { codeTool } from "../../src/tool/code/code-tool.ts";
import type { Agent } from "../../src/turn/agent.ts";
import type { Json } from "../../src/value/json.ts";
import { evaluatingSandbox } from "./evaluating-sandbox.ts";
import { MemoryFiles } from "./memory-files.ts";
import { finish, scriptedModel, text, toolCall } from "./scripted-model.ts";
import { Conversation } from "./turn.ts";

/**
 * Two conversations are the same but for their sealed values. A model that makes the same calls in both
 * must be sent the same, byte for byte: whatever differs is what it can read of a sealed value.
 */
interface World {
  readonly patients: Json;
  readonly note: string;
}

interface Call {
  readonly tool: string;
  readonly input: Json;
}

const any = z.object({}).loose();

const agent: Agent = {
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  outputPath: true,
  delegates: ["other"],
  policies: { sealed_echo: { sealed: true } },
  tools: {
    echo: tool({ inputSchema: any, execute: (input) => input }),
    sealed_echo: tool({ inputSchema: any, execute: (input) => input }),
    strict: tool({
      inputSchema: z.object({ city: z.string().max(3) }),
      execute: ({ city }) => city,
    }),
    choose: tool({
      inputSchema: z.object({ place: z.unknown() }),
      execute: ({ place }) => ({ _outputPath: place, value: 1 }),
    }),
  },
};

const other: Agent = { ...agent, name: "other", delegates: [] };

/** What the model is sent, call by call, when it makes these calls one after the other. */
async function sentIn(world: World, calls: readonly Call[]): Promise<readonly string[]> {
  const files = new MemoryFiles();
  const asked: string[] = [];
  const chat = new Conversation({
    agent,
    facilities: {
      files,
      code: (options) => codeTool({ ...options, sandbox: evaluatingSandbox }),
      colleague: () => {
        const model = scriptedModel([
          [toolCall("echo", { v: "$patients[0].name" }), finish("tool-calls")],
          [text("$patients[0].nope $note[3:] $echo_1.v"), finish()],
        ]);
        const observed = new Proxy(model, {
          get: (target, key) => {
            if (key === "doStream") {
              return (options: Parameters<typeof model.doStream>[0]) => {
                asked.push(JSON.stringify(options.prompt));
                return target.doStream(options);
              };
            }
            return Reflect.get(target, key) as unknown;
          },
        });
        return { agent: other, model: observed };
      },
    },
  });
  await chat.store.save({ name: "patients", value: world.patients, visibility: "sealed" });
  await chat.store.save({ name: "note", value: world.note, visibility: "sealed" });
  await chat.store.save({
    name: "orders",
    value: [
      { id: 1, name: "Ada" },
      { id: 2, name: "Bob" },
    ],
  });
  await chat.store.save({ name: "words", value: "abc" });
  const steps = calls.map(({ tool: name, input }, index) => [
    toolCall(name, input, { id: `call_${index}` }),
    finish("tool-calls"),
  ]);
  const turn = await chat.say({ steps: [...steps, [text("$patients[1].name"), finish()]] });
  // The answer is for the person; the next question's prompt is the model's again.
  const next = await chat.say({ steps: [[text("Done."), finish()]] });
  return [...turn.calls, ...next.calls]
    .map(({ prompt, tools }) => JSON.stringify({ prompt, tools }))
    .concat(asked);
}

const leaf = fc.constantFrom<Json>(
  "Ada",
  "Bob",
  "Zoë",
  "",
  "http://x/",
  "$a",
  1,
  0,
  null,
  true,
  [1],
  { a: 1 },
);
const record = fc.dictionary(fc.constantFrom("name", "age", "city", "tags"), leaf, { maxKeys: 4 });
/** Of one type and count: those are shown. */
const patients = fc.array(fc.oneof(record, leaf), { minLength: 3, maxLength: 3 });
const note = fc.string({ unit: fc.constantFrom("a", "b", "/", "é"), minLength: 6, maxLength: 6 });
const world: fc.Arbitrary<World> = fc.record({ patients: patients as fc.Arbitrary<Json>, note });

const path = fc
  .array(
    fc.constantFrom(
      ".name",
      ".age",
      ".v",
      ".nope",
      "[0]",
      "[1]",
      "[-1]",
      "[7]",
      "[*]",
      "[:2]",
      "[2:]",
      "[1:5]",
      ".length",
    ),
    { maxLength: 3 },
  )
  .map((segments) => segments.join(""));
const made = [
  "run_code_1",
  "run_code_2",
  "echo_1",
  "echo_2",
  "strict_1",
  "kept",
  "list",
  "sealed_echo_1",
];
const name = fc.constantFrom("patients", "note", "orders", "words", "unknown", ...made);
const reference = fc.tuple(name, path).map(([one, rest]) => `$${one}${rest}`);
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: reference },
  { weight: 1, arbitrary: reference.map((one) => `see ${one} and $note`) },
  { weight: 1, arbitrary: fc.tuple(reference, reference).map(([a, b]): Json => ({ a, b: [b] })) },
  { weight: 1, arbitrary: leaf },
);
/** Conditions on sealed data, and what code can do with the answer. */
const condition = fc.constantFrom(
  "patients[0].name > 'B'",
  "note[0] === 'a'",
  "patients[1] === null",
  "typeof patients[2] === 'object'",
);
const effect = fc.constantFrom(
  "throw new Error('yes')",
  "return Array(50).fill(0)",
  "return 'yes'",
  "return { name: 1 }",
  "return 5",
  "vars.kept = 1",
  "vars.kept = 'text'; vars[note] = 1",
  "vars.other = 1",
  "console.log(note)",
  "return JSON.stringify(patients)",
  "await tools.echo({ v: note })",
  "return",
);
const code = fc
  .tuple(condition, effect, effect)
  .map(([when, yes, no]) => `if (${when}) { ${yes} } else { ${no} }`);

const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({
    tool: fc.constant("run_code"),
    input: fc.record({
      code,
      variables: fc.constant(["patients", "note"]),
      outputs: fc.constantFrom<string[]>([], ["kept"], ["kept", "list"]),
    }),
  }),
  fc.record({
    tool: fc.constant("set_variable"),
    input: fc.record(
      {
        name: fc.constantFrom(
          "kept",
          "list",
          "words",
          "kept.a.b",
          "patients",
          "patients[0].name",
          "words.a",
        ),
        value,
        mode: fc.constantFrom("replace", "append", "merge", "new"),
      },
      { requiredKeys: ["name", "value"] },
    ),
  }),
  fc.record({
    tool: fc.constantFrom("echo", "sealed_echo"),
    input: fc.record(
      { v: value, _outputPath: fc.constantFrom("$kept", "$kept.a", "$patients.x", "$list[0]") },
      { requiredKeys: ["v"] },
    ),
  }),
  fc.record({ tool: fc.constant("strict"), input: fc.record({ city: value }) }),
  fc.record({
    tool: fc.constant("choose"),
    input: fc.record({ place: value, _outputPath: fc.constant("$note || $kept") }),
  }),
  fc.record({
    tool: fc.constant("filter_variable"),
    input: fc.record({
      name: fc.tuple(name, path).map(([one, rest]) => one + rest),
      where: fc.record({ name: fc.oneof(value, fc.record({ gt: value })) }),
      saveAs: fc.constantFrom("kept", "list"),
    }),
  }),
  fc.record({
    tool: fc.constantFrom("read_variable"),
    input: fc.record({ name, path }, { requiredKeys: ["name"] }),
  }),
  fc.record({
    tool: fc.constant("search_variable"),
    input: fc.record({ name, path, query: fc.constantFrom("a", "Ada") }),
  }),
  fc.record({
    tool: fc.constant("export_variable"),
    input: fc.record({
      name,
      path,
      file: fc.constantFrom("file:a.csv", "file:a.txt", "file:a.json"),
    }),
  }),
  fc.constant<Call>({ tool: "list_variables", input: {} }),
  fc.record({
    tool: fc.constant("delete_variable"),
    input: fc.record({ name: fc.constantFrom("kept", "run_code_1") }),
  }),
  fc.constant<Call>({
    tool: "delegate",
    input: { agent: "other", task: "Look at $patients[0].name" },
  }),
);

/** Where the first of two texts that differ do, in both; empty if none does. */
function differenceOf(one: readonly string[], two: readonly string[]): string {
  for (const [index, text] of one.entries()) {
    const other = two[index] ?? "";
    if (text === other) continue;
    const at = [...text].findIndex((character, place) => character !== other[place]);
    const near = (whole: string) => whole.slice(Math.max(at - 300, 0), at + 100);
    return `${near(text)}\n--- or ---\n${near(other)}`;
  }
  return one.length === two.length ? "" : "Not as many.";
}

/**
 * Calls at random in pairs of worlds at random. Gives the calls that were made, and the shortest calls by
 * which a model tells two worlds apart, with what it is sent.
 */
export async function compareWorlds(numRuns: number) {
  let calls = 0;
  const sequences = fc.array(call, { minLength: 1, maxLength: 8 });
  const property = fc.asyncProperty(world, world, sequences, async (one, two, made) => {
    calls += made.length;
    const [first, second] = await Promise.all([sentIn(one, made), sentIn(two, made)]);
    const difference = differenceOf(first, second);
    if (difference !== "") throw new Error(difference);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, { numRuns });
  const told = failed ? `${JSON.stringify(counterexample)}\n${String(errorInstance)}` : "";
  return { calls, told };
}
