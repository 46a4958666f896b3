import type { LanguageModelV4, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { jsonSchema, tool, type ToolSet } from "ai";
import type { Agent } from "../../src/turn/agent.ts";
import { variableIn } from "../../src/tool/tool-output.ts";
import { VARIABLES_TAG } from "../../src/turn/history/variable-list.ts";
import {
  finish,
  type Part,
  reasoning,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";
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

export const questionText = (turn: number): string => `Please do turn ${turn}.`;

/**
 * Returns a model that follows the plan. It goes by the prompt alone: the same prompt gets the same answer.
 */
export function modelOf(plan: Plan, world: World): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "planned",
    modelId: "planned",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The planned model only streams.")),
    doStream: async ({ prompt }) => {
      world.requireRunning("the model");
      await world.outside();
      const { turn, step, names, isWhole } = readPrompt(prompt, plan);
      const planned = plan.turns[turn]?.steps[step];
      world.require(
        isWhole,
        `the prompt of turn ${turn}, step ${step} has a call without a result`,
      );
      world.require(planned !== undefined, `turn ${turn} has no step ${step}`);
      const place = `t${turn}s${step}`;
      const calls = world.modelCalls.get(place) ?? 0;
      world.modelCalls.set(place, calls + 1);
      const fault = planned.faults[0] === "refused" ? "refused" : planned.faults[calls];
      if (fault === "overloaded")
        throw Object.assign(new Error("Overloaded."), { statusCode: 529 });
      if (fault === "refused") throw Object.assign(new Error("Refused."), { statusCode: 400 });
      return { stream: streamed(partsOf(planned, names), fault === "cut", world) };
    },
  };
}

function streamed(parts: readonly Part[], isCut: boolean, world: World): ReadableStream<Part> {
  const end = isCut ? Math.floor(parts.length / 2) : parts.length;
  const error = Object.assign(new Error("terminated"), { code: "ECONNRESET" });
  return world.stream(parts.slice(0, end), isCut ? error : undefined);
}

function partsOf(step: PlannedStep, names: ReadonlyMap<string, string>): readonly Part[] {
  const filled = (written: string) =>
    written.replaceAll(/\{(t\d+s\d+c\d+)\}/g, (_, id: string) => names.get(id) ?? "nothing");
  const calls = step.calls.map(({ sentId, tool, input }) =>
    toolCall(tool, JSON.parse(filled(JSON.stringify(input))), {
      id: sentId,
      chunks: step.deltaChars,
    }),
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

/** What the model learns from a prompt. */
interface Read {
  /** The requested turn, and its next step. */
  readonly turn: number;
  readonly step: number;
  /** References to the variables of results, by call. */
  readonly names: ReadonlyMap<string, string>;
  /** True if every call has its result. Providers refuse a prompt with a call that has none. */
  readonly isWhole: boolean;
}

function readPrompt(prompt: LanguageModelV4Prompt, plan: Plan): Read {
  const names = new Map<string, string>();
  const open = new Set<string>();
  let isWhole = true;
  let turn = 0;
  let step = 0;
  for (const { role, content } of prompt) {
    if (typeof content === "string") continue;
    if (role !== "tool" && open.size > 0) isWhole = false;
    for (const part of content) {
      if (role === "user" && part.type === "text" && !part.text.startsWith(VARIABLES_TAG)) {
        turn = Number(/turn (\d+)/.exec(part.text)?.[1] ?? 0);
        step = 0;
      }
      if (part.type === "tool-call") open.add(part.toolCallId);
      if (part.type !== "tool-result") continue;
      if (!open.delete(part.toolCallId)) isWhole = false;
      const name = part.output.type === "json" ? variableIn(part.output.value) : undefined;
      const calls = plan.turns[turn]?.steps[step - 1]?.calls ?? [];
      const call = calls.find(({ sentId }) => sentId === part.toolCallId);
      if (call !== undefined && name !== undefined) names.set(call.id, `$${name}`);
    }
    if (role === "assistant" && open.size > 0) step++;
  }
  return { turn, step, names, isWhole: isWhole && open.size === 0 };
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
    // Conversations are short. This makes most turns compact.
    historyChars: 500,
  };
}

/** Created once, because creating it takes longer than a turn. */
const inputSchema = jsonSchema<Input>({
  type: "object",
  properties: { gives: { type: "string", enum: [...GIVES] }, about: { type: "string" }, of: {} },
  required: ["gives", "about"],
});

type Input = { readonly gives: Gives; readonly about: string; readonly of?: unknown };

function toolOf(name: ToolName, world: World): ToolSet[string] {
  return tool({
    description: `Does ${name}.`,
    inputSchema,
    execute: async ({ gives, about, of }, options) => {
      const { toolCallId, abortSignal } = options;
      const { idempotencyKey: key } = options as { readonly idempotencyKey?: string };
      world.requireRunning(`the tool ${name}`);
      const done = world.tell(abortSignal);
      await world.outside();
      const id = callOf(key);
      // For a call that ignored a stop, an outcome may already be stored.
      const isStopped = abortSignal?.aborted === true;
      const wasCommitted = !isStopped && committedCalls(world.database.sql).has(id);
      world.ledger.push({ id, toolCallId, tool: name, wasCommitted });
      await world.wait();
      done();
      return resultOf(gives, `${id} ${about} ${toldOf(of)}`, world);
    },
  });
}

/** Returns the call's id in the plan, from its idempotency key; empty without a key. */
function callOf(key: string | undefined): string {
  const [, turn, step, call] = /^simulated\/answer-(\d+)\/(\d+)\/(\d+)$/.exec(key ?? "") ?? [];
  return call === undefined ? "" : `t${turn}s${step}c${call}`;
}

function resultOf(gives: Gives, said: string, world: World): unknown {
  const bytes = new TextEncoder().encode(said.padEnd(70_000, "."));
  const pieces = [bytes.subarray(0, 100), bytes.subarray(100, 66_000), bytes.subarray(66_000)];
  const records = Array.from({ length: 40 }, (_, index) => ({ index, said: `${said} ${index}` }));
  switch (gives) {
    case "small":
      return { said };
    case "list":
      return records;
    case "large":
      return { said, text: "x".repeat(70_000) };
    case "bytes":
      return bytes;
    case "text stream":
      return response(world.stream(pieces), "text/plain; charset=utf-8");
    case "bytes stream":
      return world.stream(pieces);
    case "records stream": {
      const lines = records.map((record) =>
        new TextEncoder().encode(`${JSON.stringify(record)}\n`),
      );
      return response(world.stream(lines.slice(0, 3)), "application/x-ndjson");
    }
    case "broken stream":
      return response(world.stream(pieces.slice(0, 2), new Error("terminated")), "text/plain");
    case "progress":
      return world.stream([{ done: 1 }, { done: 2 }, { said }])[Symbol.asyncIterator]();
    case "throw":
      throw new Error(`No: ${said}`);
    case "hang":
      return new Promise(() => undefined);
  }
}

function response(body: ReadableStream, type: string): Response {
  return new Response(body, { headers: { "content-type": type } });
}

/** Returns what a tool received, shortened. */
function toldOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const written = JSON.stringify(value) ?? "";
  return `${written.length} ${written.slice(0, 60)}`;
}
