import { isStepCount, ToolLoopAgent, type ToolSet } from "ai";
import { INSTRUCTIONS } from "../tasks/task.ts";
import type { AnyAgent, PlayedTurn, TurnResult } from "./arm.ts";

/** Plays a turn in the AI SDK's own loop. `by` may return another agent, as `withToolVariables` does. */
export async function playTurn(
  { model, messages, maxSteps }: PlayedTurn,
  tools: ToolSet,
  by: (agent: ToolLoopAgent<never, ToolSet>) => AnyAgent = (agent) => agent,
): Promise<TurnResult> {
  const agent = new ToolLoopAgent<never, ToolSet>({
    model,
    tools,
    instructions: INSTRUCTIONS,
    stopWhen: isStepCount(maxSteps),
    // After 429 and other temporary failures, at the pace that the provider asks for.
    maxRetries: 6,
  });
  const result = await by(agent).generate({ messages });
  return { text: result.text, messages: result.responseMessages };
}
