import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { finish, scriptedModel, text, toolCall } from "byref/testing";

/** The output of one step: tool calls by name and input, and texts. A text arrives in chunks. */
export interface Step {
  readonly calls?: readonly (readonly [name: string, input: object])[];
  readonly text?: string | readonly string[];
}

/** Steps of a model that goes on after its script. */
const SILENT: readonly Step[] = Array.from({ length: 9 }, () => ({}));

/** A model that plays a script, step by step, and records its prompts. */
export class ScriptedModel {
  readonly prompts: readonly LanguageModelV4CallOptions[];
  /** Mastra has its own copy of the provider's types. */
  readonly config: MastraModelConfig;
  /** Called before each step. If it throws, the model fails with that error. */
  onStep: (step: number) => void = () => undefined;

  constructor(steps: readonly Step[]) {
    const played = [...steps, ...SILENT].map(({ calls = [], text: said = [] }, step) => () => {
      this.onStep(step);
      const chunks = typeof said === "string" ? [said] : said;
      const parts = calls.map(([tool, input], at) =>
        toolCall(tool, input, { id: `call-${step}-${at}` }),
      );
      return [
        ...(chunks.length === 0 ? [] : text("", { id: `text-${step}`, chunks })),
        ...parts.flat(),
        ...finish(calls.length > 0 ? "tool-calls" : "stop", { input: 0, output: 0 }),
      ];
    });
    const model = scriptedModel(played);
    this.prompts = model.calls;
    this.config = model as unknown as MastraModelConfig;
  }

  /** Number of characters in all prompts, with the tools' definitions. */
  get promptChars(): number {
    return this.prompts
      .map(({ prompt, tools }) => JSON.stringify({ prompt, tools }).length)
      .reduce((sum, chars) => sum + chars, 0);
  }
}

/** An agent with this model. */
export function agentOf({ config: model }: ScriptedModel, more: object = {}): Agent {
  return new Agent({ id: "shop", name: "Shop", instructions: "You help.", model, ...more });
}
