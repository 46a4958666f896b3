import type { ModelMessage, SystemModelMessage } from "ai";
import { asWritten } from "../agent/expand-answer.ts";
import { listingVariables, withGuide } from "../agent/step-prompt.ts";
import type { InstructionStyle, WrapOptions } from "../../../../src/internal-tool.ts";
import type { ClientCalls } from "./client-calls.ts";
import type { Run } from "./run.ts";

/** The parts of a prompt. */
export interface Prompting {
  readonly run: Run;
  readonly clientCalls: ClientCalls;
  readonly instructionStyle: InstructionStyle;
  /** Called when the run has its store. */
  readonly options: () => WrapOptions;
}

/** A processor that Mastra runs on each prompt before it is sent. What it adds is not stored. */
export interface PromptProcessor {
  readonly id: string;
  processLLMRequest(given: { readonly prompt: readonly ModelMessage[] }): Promise<{
    readonly prompt: readonly ModelMessage[];
  }>;
}

/** Returns the processor that adds the guide and the list of variables to the prompts of a run. */
export function promptProcessor(prompting: Prompting): PromptProcessor {
  const { run, clientCalls, instructionStyle } = prompting;
  let prepare: ReturnType<typeof listingVariables> | undefined;
  let stepNumber = 0;
  return {
    id: "byref-variables",
    async processLLMRequest({ prompt }) {
      // Approvals of calls from now on are requested in this process.
      run.isForeign = false;
      const options = prompting.options();
      prepare ??= listingVariables({ ...options, instructionStyle });
      const isSystem = ({ role }: ModelMessage) => role === "system";
      const system = prompt.filter(isSystem) as SystemModelMessage[];
      const messages = clientCalls.asWritten(
        asWritten(prompt.filter((message) => !isSystem(message))),
      );
      // Only these fields are read; the rest of a step belongs to the SDK's loop.
      const step = { messages, stepNumber: stepNumber++ } as unknown as Parameters<
        typeof prepare
      >[0];
      const listed = (await prepare(step))?.messages ?? messages;
      return { prompt: [...guided(system), ...listed.map(inParts)] };
    },
  };

  function guided(system: readonly SystemModelMessage[]): readonly ModelMessage[] {
    const { syntaxes } = prompting.options();
    const instructions = withGuide([...system], instructionStyle, syntaxes);
    return Array.isArray(instructions)
      ? instructions
      : [{ role: "system", content: String(instructions) }];
  }
}

/** A prompt for a provider has parts where a message may have a text. */
function inParts(message: ModelMessage): ModelMessage {
  return message.role === "user" && typeof message.content === "string"
    ? { ...message, content: [{ type: "text", text: message.content }] }
    : message;
}
