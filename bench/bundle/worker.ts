import { type LanguageModel, tool } from "ai";
import * as z from "zod";
import { createRuntime } from "../../src/byref.ts";

declare const model: LanguageModel;

/** The smallest Worker of an application, with its own model and agent. It is measured, and asked nothing. */
const runtime = createRuntime({
  model: () => model,
  agents: [
    {
      name: "clock",
      description: "Knows the time.",
      instructions: "Tell the time.",
      tools: {
        tell_time: tool({
          description: "The time now.",
          inputSchema: z.object({ zone: z.string() }),
          execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
        }),
      },
    },
  ],
});

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
