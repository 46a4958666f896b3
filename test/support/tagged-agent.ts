import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { capabilityTags } from "../../packages/plan-formats/src/capability/capability-model.ts";
import { tool, type ToolSet } from "ai";
import * as z from "zod";
import type { Agent } from "../../src/turn/agent.ts";
import { finish, type Step, text } from "../../packages/testing/src/testing.ts";
import { promptOf, type Turn, turnWith } from "./turn.ts";
import { toolOf } from "./tool-of.ts";

/** Inputs that the tools received. */
export const given: unknown[] = [];

export const tools: ToolSet = {
  get_weather: tool({
    description: "The weather in a city.",
    inputSchema: z.object({
      location: z.string().describe("A city"),
      days: z.number().optional(),
      units: z.enum(["c", "f"]).optional(),
    }),
    execute: (input) => {
      given.push(input);
      return { location: input.location, temp: 72 };
    },
  }),
  memory: toolOf({ action: z.string(), query: z.string() }, (input) => {
    given.push(input);
    return "recalled";
  }),
  write_note: toolOf({ title: z.string(), content: z.string() }, (input) => {
    given.push(input);
    return "written";
  }),
  rename: toolOf({ name: z.string(), tags: z.array(z.string()) }, (input) => {
    given.push(input);
    return "renamed";
  }),
  sum: toolOf({ rows: z.array(z.object({ n: z.number() })) }, ({ rows }) =>
    rows.reduce((sum, { n }) => sum + n, 0),
  ),
};

export function agentWith(about: Partial<Agent> = {}): Agent {
  return {
    name: "test",
    description: "For tests.",
    instructions: "Help.",
    tools,
    toolCalls: capabilityTags,
    ...about,
  };
}

export const NYC = '<capability name="get_weather" location="NYC" />';
export const done: Step = [text("Done."), finish()];

/** Runs one turn whose first answer is this text. */
export function answerWith(
  answer: string,
  chunks: number | readonly string[] = [answer],
): Promise<Turn> {
  given.length = 0;
  return turnWith({ agent: agentWith(), steps: [[text(answer, { chunks }), finish()], done] });
}

export function textIn(message: LanguageModelV4Message | undefined): string {
  const { content = "" } = message ?? {};
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("¶");
}

/** Returns what the model read in its n-th call, message by message. */
export function read(turn: Turn, call: number): readonly (readonly [string, string])[] {
  return promptOf(turn, call).map((message) => [message.role, textIn(message)] as const);
}
