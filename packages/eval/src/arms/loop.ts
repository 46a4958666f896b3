import { isStepCount, ToolLoopAgent, type ToolSet } from "ai";
import { INSTRUCTIONS } from "../tasks/task.ts";
import type { PlayedTurn } from "./arm.ts";

/** Plays a turn in the AI SDK's own loop. `by` may return another agent, as `withToolVariables` does. */
export async function playTurn(
  { model, messages, maxSteps }: PlayedTurn,
  tools: ToolSet,
  by: (agent: Agent) => Pick<Agent, "generate"> = (agent) => agent,
) {
  const agent = new ToolLoopAgent<never, ToolSet>({
    model,
    tools,
    instructions: INSTRUCTIONS,
    stopWhen: isStepCount(maxSteps),
    // After 429 and other temporary failures, at the pace that the provider asks for.
    maxRetries: 6,
  });
  const { responseMessages } = await by(agent).generate({ messages });
  return responseMessages;
}

/** An agent of the AI SDK, whatever its tools are. */
type Agent = ToolLoopAgent<never, ToolSet>;
