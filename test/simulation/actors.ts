import type { LanguageModelV4, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { jsonSchema, tool, type ToolSet } from "ai";
import type { Agent } from "../../src/turn/agent.ts";
import { variableIn } from "../../src/tool/tool-output.ts";
import { VARIABLES_TAG } from "../../src/turn/prompt.ts";
import { finish, type Part, reasoning, text, toolCall } from "../support/scripted-model.ts";
import { committedCalls } from "./committed.ts";
import {
  GIVES,
  type Gives,
  OWN_TOOLS,
  type Plan,
  type PlannedStep,
  type ToolName,
  TOOLS,
} from "./plan.ts";
import type { World } from "./world.ts";

export function questionText(turn: number): string {
  return `Please do turn ${turn}.`;
}

/** Says what the plan has, going by the prompt alone: asked the same again, it says the same. */
export function modelOf(plan: Plan, world: World): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "planned",
    modelId: "planned",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The planned model only streams.")),
    doStream: async ({ prompt }) => {
      await world.outside();
      const { turn, step } = placeIn(prompt);
      const planned = plan.turns[turn]?.steps[step];
      if (planned === undefined) throw new Error(`SIMULATION: turn ${turn} has no step ${step}.`);
      const place = `t${turn}s${step}`;
      const calls = world.modelCalls.get(place) ?? 0;
      world.modelCalls.set(place, calls + 1);
      const fault = planned.faults[0] === "refused" ? "refused" : planned.faults[calls];
      if (fault === "overloaded")
        throw Object.assign(new Error("Overloaded."), { statusCode: 529 });
      if (fault === "refused") throw Object.assign(new Error("Refused."), { statusCode: 400 });
      return { stream: streamed(partsOf(planned, namesIn(prompt)), fault === "cut", world) };
    },
  };
}

function streamed(parts: readonly Part[], isCut: boolean, world: World): ReadableStream<Part> {
  let next = 0;
  const end = isCut ? Math.floor(parts.length / 2) : parts.length;
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        await world.wait();
        const part = parts[next];
        if (next++ < end && part !== undefined) controller.enqueue(part);
        else if (isCut)
          controller.error(Object.assign(new Error("terminated"), { code: "ECONNRESET" }));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function partsOf(step: PlannedStep, names: ReadonlyMap<string, string>): readonly Part[] {
  const filled = (written: string) =>
    written.replaceAll(/\{(t\d+s\d+c\d+)\}/g, (_, id: string) => names.get(id) ?? "nothing");
  const calls = step.calls.map(({ id, tool, input }) =>
    toolCall(tool, JSON.parse(filled(JSON.stringify(input))), { id, chunks: step.deltaChars }),
  );
  const source: Part = { type: "source", sourceType: "url", id: "s", url: "https://example.com/" };
  return [
    ...(step.reasoning === undefined ? [] : reasoning(step.reasoning, { chunks: step.deltaChars })),
    ...(step.hasSource ? [source] : []),
    ...(step.text === undefined ? [] : text(filled(step.text), { chunks: step.deltaChars })),
    ...calls.flat(),
    ...finish(calls.length > 0 ? "tool-calls" : "stop", { input: 10, output: 5 }),
  ];
}

/** The turn that is asked for, and the step behind the newest call in it. */
function placeIn(prompt: LanguageModelV4Prompt): { readonly turn: number; readonly step: number } {
  let turn = 0;
  let step = 0;
  for (const { role, content } of prompt) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (role === "user" && part.type === "text" && !part.text.startsWith(VARIABLES_TAG)) {
        turn = Number(/turn (\d+)/.exec(part.text)?.[1] ?? 0);
        step = 0;
      }
      if (part.type !== "tool-call") continue;
      const [, ofTurn, ofStep] = /^t(\d+)s(\d+)c\d+$/.exec(part.toolCallId) ?? [];
      if (Number(ofTurn) === turn) step = Math.max(step, Number(ofStep) + 1);
    }
  }
  return { turn, step };
}

/** References to the variables of results, by call. */
function namesIn(prompt: LanguageModelV4Prompt): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { role, content } of prompt) {
    if (role !== "tool") continue;
    for (const part of content) {
      if (part.type !== "tool-result" || part.output.type !== "json") continue;
      const name = variableIn(part.output.value);
      if (name !== undefined) names.set(part.toolCallId, `$${name}`);
    }
  }
  return names;
}

export function agentOf(world: World): Agent {
  const names = Object.keys(TOOLS) as ToolName[];
  return {
    name: "planned",
    description: "Does what is planned.",
    instructions: "Do what is planned.",
    tools: Object.fromEntries(names.map((name) => [name, toolOf(name, world)])) as ToolSet,
    effects: Object.fromEntries(names.map((name) => [name, TOOLS[name].effects])),
    policies: Object.fromEntries(names.map((name) => [name, { approval: TOOLS[name].asks }])),
    outputPath: true,
    variableTools: OWN_TOOLS,
  };
}

/** Made once: it takes longer than a turn. */
const inputSchema = jsonSchema<Input>({
  type: "object",
  properties: {
    gives: { type: "string", enum: [...GIVES] },
    about: { type: "string" },
    of: {},
  },
  required: ["gives", "about"],
});

interface Input {
  readonly gives: Gives;
  readonly about: string;
  readonly of?: unknown;
}

function toolOf(name: ToolName, world: World): ToolSet[string] {
  return tool({
    description: `Does ${name}.`,
    inputSchema,
    execute: async ({ gives, about, of }, options) => {
      const { toolCallId } = options;
      const { idempotencyKey: key } = options as { readonly idempotencyKey?: string };
      await world.outside();
      const wasCommitted = committedCalls(world.database.sql).has(toolCallId);
      world.ledger.push({ toolCallId, tool: name, key, wasCommitted });
      await world.wait();
      return resultOf(gives, `${toolCallId} ${about} ${toldOf(of)}`);
    },
  });
}

function resultOf(gives: Gives, said: string): unknown {
  switch (gives) {
    case "small":
      return { said };
    case "list":
      return Array.from({ length: 40 }, (_, index) => ({ index, said: `${said} ${index}` }));
    case "large":
      return { said, text: "x".repeat(70_000) };
    case "bytes":
      return new TextEncoder().encode(said.padEnd(70_000, "."));
    case "throw":
      throw new Error(`No: ${said}`);
    case "hang":
      return new Promise(() => undefined);
  }
}

/** What was given to a tool, shortened. */
function toldOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const written = JSON.stringify(value) ?? "";
  return `${written.length} ${written.slice(0, 60)}`;
}
