import { isJsonObject, type JsonObject } from "../../value/json.ts";
import { countsIn, errorIn, fetchEvents, objectsIn, textOf } from "./streamed-events.ts";

/**
 * `fetch` for Anthropic's Messages API. Endpoints that follow it leave out counts of tokens, or send a text with the
 * start of its block. Events of other types are to be ignored, as Anthropic's versioning policy says.
 */
export const fetchMessages = fetchEvents(() => ({ read: readEvent }));

function readEvent(event: JsonObject): readonly JsonObject[] {
  const failure = errorIn(event);
  if (failure !== undefined) return [{ type: "error", error: { type: "api_error", ...failure } }];
  switch (event.type) {
    case "message_start": {
      const [{ id, usage, ...message } = {}] = objectsIn(event.message);
      const counts = { input_tokens: 0, output_tokens: 0, ...countsIn(usage) };
      return [{ ...event, message: { ...message, id: textOf(id) ?? null, usage: counts } }];
    }
    case "message_delta":
      return [{ ...event, usage: { output_tokens: 0, ...countsIn(event.usage) } }];
    case "content_block_start":
      return startOf(event);
    default:
      return KNOWN.has(event.type) ? [event] : [];
  }
}

const KNOWN: ReadonlySet<unknown> = new Set([
  "content_block_delta",
  "content_block_stop",
  "message_stop",
  "ping",
]);

function startOf(event: JsonObject): readonly JsonObject[] {
  const [block = {}] = objectsIn(event.content_block);
  const { type, text, input, id } = block;
  if (type === "text" && textOf(text) !== undefined) {
    const delta = { type: "text_delta", text: String(text) };
    const start = { ...event, content_block: { ...block, text: "" } };
    return [start, { ...event, type: "content_block_delta", delta }];
  }
  if (type !== "tool_use") return [event];
  const given = isJsonObject(input ?? null) ? {} : { input: {} };
  return [{ ...event, content_block: { ...block, id: textOf(id) ?? "", ...given } }];
}
