import type { UIMessageChunk } from "ai";
import { codeIn } from "../../errors.ts";
import type { EvictionReason, VariableInfo } from "../../store/variable.ts";
import {
  type EventLog,
  eventVariable,
  type NewEvent,
  withShortNames,
} from "../../turn/log/event-log.ts";
import type { ToolCall } from "../../turn/model/model-try.ts";
import type { Frame } from "../../turn/log/turn-log.ts";

/** Adds an event for each tool call and outcome among the chunks that the turn emits. */
export function recordTools(
  events: Pick<EventLog, "add">,
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
        const code = codeIn(chunk.errorText);
        events.add({ type: "tool.failed", turn, tool, toolCallId, code });
      }
    }
  };
}

/**
 * Adds the events that an interrupted attempt has lost, because events are written when a turn ends. Their
 * times are lost.
 */
export function recordRemains(events: EventLog, turn: string, frames: readonly Frame[]): void {
  const known = new Set(events.recent().map(keyOf));
  const add = (event: NewEvent) => {
    if (!known.has(keyOf(withShortNames(event)))) events.add(event);
  };
  add({ type: "turn.started", turn });
  const record = recordTools({ add }, turn, []);
  for (const { data } of frames) {
    // The log encoded a chunk.
    const chunk = JSON.parse(data) as UIMessageChunk;
    if (chunk.type === "data-variable") add(variableEvent(chunk.data));
    else record(chunk);
  }
}

function variableEvent(data: unknown): NewEvent {
  // The turn encoded a variable's info, or one with the reason of a tombstone.
  const { reason, ...info } = data as VariableInfo & { readonly reason?: EvictionReason };
  const variable = eventVariable(info);
  if (reason === undefined) return { type: "variable.saved", variable };
  return { type: "variable.evicted", variable, reason };
}

function keyOf({ type, turn, toolCallId, variable }: NewEvent): string {
  if (variable === undefined) return [type, turn, toolCallId].join(" ");
  return [type, variable.name, variable.version].join(" ");
}
