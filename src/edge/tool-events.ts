import type { UIMessageChunk } from "ai";
import { errorCodes } from "../errors.ts";
import type { EventLog } from "../turn/event-log.ts";
import type { ToolCall } from "../turn/step.ts";

/** Notes in the log which tools a turn calls and what comes of it, from the chunks that it emits. */
export function recordTools(
  events: EventLog,
  turn: string,
  waiting: Iterable<ToolCall>,
): (chunk: UIMessageChunk) => void {
  const tools = new Map(Array.from(waiting, ({ toolCallId, toolName }) => [toolCallId, toolName]));
  return (chunk) => {
    if (chunk.type === "tool-input-available") {
      const { toolName: tool, toolCallId } = chunk;
      tools.set(toolCallId, tool);
      events.add({ type: "tool.called", turn, tool, toolCallId });
    } else if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error") {
      const { toolCallId } = chunk;
      const tool = tools.get(toolCallId) ?? "";
      if (chunk.type === "tool-output-available") {
        events.add({ type: "tool.done", turn, tool, toolCallId });
      } else {
        // What is no code of ours is what a provider's own tool says, and may be anything.
        const [code = ""] = chunk.errorText.split(":");
        const known = Object.hasOwn(errorCodes, code) ? code : "tool_failed";
        events.add({ type: "tool.failed", turn, tool, toolCallId, code: known });
      }
    }
  };
}
