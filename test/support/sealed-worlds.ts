import { callable } from "./called-agents.ts";
import { capabilityTags } from "../../packages/plan-formats/src/capability/capability-model.ts";
import { tool } from "ai";
import fc from "fast-check";
import * as z from "zod";
import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { codeTool } from "../../src/tool/code/code-tool.ts";
import { queryTools } from "../../src/tool/query/query-tools.ts";
import { requireTrusted } from "../../src/tool/policy.ts";
import type { Agent } from "../../src/turn/agent.ts";
import type { Json } from "../../src/value/json.ts";
import { evaluatingSandbox } from "./evaluating-sandbox.ts";
import { type Call, call as anyCall, type World, world } from "./sealed-calls.ts";
import { MemoryFiles } from "./memory-files.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "./turn.ts";

/** The model's calls, step by step. The calls of a step run at the same time. */
interface Said {
  readonly made: readonly (readonly Call[])[];
  /** True if the agent calls its tools with tags. */
  readonly isTagged?: boolean;
  /** The call that a delegated agent makes. */
  readonly asked?: Call;
  /** The value of a variable `kept` that the model may read. */
  readonly kept?: Json;
}

const any = z.object({}).loose();

const agent: Agent = {
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  outputPath: true,
  delegates: ["other"],
  policies: { sealed_echo: { sealed: true }, web: { trusted: false } },
  policy: requireTrusted(["send"]),
  untrusted: "hide",
  tools: {
    echo: tool({ inputSchema: any, execute: (input) => input }),
    sealed_echo: tool({ inputSchema: any, execute: (input) => input }),
    pass: tool({ inputSchema: any, execute: ({ v }) => v }),
    strict: tool({
      inputSchema: z.object({ city: z.string().max(3) }),
      execute: ({ city }) => city,
    }),
    web: tool({ inputSchema: any, execute: () => "words" }),
    send: tool({ inputSchema: any, execute: () => "sent" }),
    choose: tool({
      inputSchema: z.object({ place: z.unknown() }),
      execute: ({ place }) => ({ _outputPath: place, value: 1 }),
    }),
  },
};

const ECHO: Call = { tool: "echo", input: { v: "$patients[0].name" } };

const other: Agent = { ...agent, name: "other", delegates: [] };

/** Returns what the model is sent, call by call. */
async function sentIn(
  world: World,
  { made, isTagged = false, asked: call = ECHO, kept }: Said,
): Promise<readonly string[]> {
  const files = new MemoryFiles();
  const asked: string[] = [];
  const chat = new Conversation({
    agent: isTagged ? { ...agent, toolCalls: capabilityTags } : agent,
    services: {
      files,
      queries: (wrap) => queryTools({ databases: nodeQueryDatabases(wrap.store), wrap }),
      code: (options) => codeTool({ ...options, sandbox: evaluatingSandbox }),
      findAgent: () => {
        const model = scriptedModel([
          [toolCall(call.tool, call.input), finish("tool-calls")],
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
        return callable(other, observed);
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
  if (kept !== undefined) await chat.store.save({ name: "kept", value: kept });
  const steps = made.map((calls, step) => [
    ...calls.map(({ tool: name, input }, index) =>
      toolCall(name, input, { id: `call_${step}_${index}` }),
    ),
    finish("tool-calls"),
  ]);
  const turn = await chat.say({ steps: [...steps, [text("$patients[1].name"), finish()]] });
  // The answer is for the user only; the prompt of the next question is for the model again.
  const next = await chat.say({ steps: [[text("Done."), finish()]] });
  return [...turn.calls, ...next.calls]
    .map(({ prompt, tools }) => JSON.stringify({ prompt, tools }))
    .concat(asked);
}

/** Returns the surroundings of the first difference, from both sides; empty if there is none. */
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

/** Returns the first difference in what the model is sent in two worlds; empty if there is none. */
export async function toldApart([one, two]: readonly [World, World], said: Said): Promise<string> {
  const [first, second] = await Promise.all([sentIn(one, said), sentIn(two, said)]);
  return differenceOf(first, second);
}

/**
 * Makes random calls in random pairs of worlds. Returns the shortest sequence that lets a model distinguish
 * two worlds, with what it is sent, or an empty text.
 */
export async function compareWorlds(numRuns: number): Promise<string> {
  const step = fc.array(anyCall, { minLength: 1, maxLength: 2 });
  const sequences = fc.array(step, { minLength: 1, maxLength: 7 });
  const said = fc.record({ made: sequences, isTagged: fc.boolean() });
  const property = fc.asyncProperty(world, world, said, async (one, two, all) => {
    const difference = await toldApart([one, two], all);
    if (difference !== "") throw new Error(difference);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, { numRuns });
  return failed ? `${JSON.stringify(counterexample)}\n${String(errorInstance)}` : "";
}
