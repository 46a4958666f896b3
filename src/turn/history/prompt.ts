import {
  convertToModelMessages,
  isToolUIPart,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
} from "ai";
import * as limits from "../../limits.ts";
import { isImage, withoutImage } from "../../tool/variables/read-variable.ts";
import { type StoredMessage, toUIMessage } from "./stored-message.ts";
import { isObject } from "../../value/json.ts";
import { ranInstead } from "../../tool/policy.ts";
import { changedIn, type MessagePart, type ToolPart } from "./message-parts.ts";
import { KEPT_AS } from "./variable-list.ts";

/** Converts stored messages to model messages. References stay references. */
export function toModelMessages(
  messages: readonly StoredMessage[],
  tools: ToolSet,
): Promise<readonly ModelMessage[]> {
  const shown = messages.map((message) => forModel(message, isDone, 0));
  return convertToModelMessages(shown, { tools });
}

/** Converts the message of the current turn. A provider's own call may receive its result in a later step. */
export function toTurnMessages(message: StoredMessage, tools: ToolSet): Promise<ModelMessage[]> {
  const isSent = (part: ToolPart) => part.providerExecuted === true || DONE_STATES.has(part.state);
  return convertToModelMessages([forModel(message, isSent, limits.maxShownImages)], { tools });
}

const DONE_STATES: ReadonlySet<string> = new Set([
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
]);

function isDone(part: ToolPart): boolean {
  if (part.state === "output-available") return part.preliminary !== true;
  // Providers accept only their own results, not our error.
  if (part.state === "output-error" && part.providerExecuted === true)
    return !/^(?:turn_stopped|skipped): /u.test(part.errorText);
  // A call that was allowed but never ran has no result.
  return DONE_STATES.has(part.state) && part.state !== "approval-responded";
}

function forModel(
  stored: StoredMessage,
  isSent: (part: ToolPart) => boolean,
  images: number,
): Pick<UIMessage, "role" | "parts"> {
  const parts = toUIMessage(stored, "reference").parts.flatMap((part) => {
    if (!isToolUIPart(part)) return [withHandle(part)];
    return isSent(part) ? [plainCall(part)] : [];
  });
  return { role: stored.role, parts: withImages(parts, images) };
}

/**
 * Keeps the newest images that the model read, each once, and replaces the others with a note, because every
 * step sends all images again.
 */
function withImages(parts: readonly MessagePart[], maximum: number): MessagePart[] {
  const shown = new Set<string>();
  const kept = parts.toReversed().map((part) => {
    if (!isToolUIPart(part) || !isImage(part.output)) return part;
    const read = JSON.stringify(part.output);
    if (shown.size < maximum && !shown.has(read)) {
      shown.add(read);
      return part;
    }
    return { ...part, output: withoutImage(part.output) } as typeof part;
  });
  return kept.reverse();
}

/**
 * Removes approvals, which the model does not need; a denied call becomes a tool error. The result of a call that a
 * person approved with another input says what ran: the call itself stays as the model wrote it.
 */
function plainCall(part: ToolPart): MessagePart {
  // The rest is a part of the same call, in a state without an approval.
  const { approval, ...call } = part;
  if (part.state === "output-denied") {
    const why = approval?.reason === undefined ? "" : ` ${approval.reason}`;
    const errorText = `tool_denied: The person did not allow this call.${why}`;
    return { ...call, state: "output-error", errorText } as unknown as MessagePart;
  }
  const changed = approval?.approved === true ? changedIn(part) : undefined;
  if (changed === undefined) return call as unknown as MessagePart;
  const note = ranInstead(changed.input);
  if (part.state === "output-error") {
    return { ...call, errorText: `${part.errorText} ${note}` } as unknown as MessagePart;
  }
  const { output } = part;
  const result = isObject(output) ? output : { result: output };
  return { ...call, output: { ...result, note } } as unknown as MessagePart;
}

/** Replaces a person's file, which is a variable, with its handle. */
function withHandle(part: MessagePart): MessagePart {
  const handle = part.type === "file" ? part.providerMetadata?.byref?.handle : undefined;
  if (typeof handle !== "string") return part;
  return { type: "text", text: `A file was given, ${KEPT_AS}${handle}` };
}
