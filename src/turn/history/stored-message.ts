import type { FinishReason, UIMessage } from "ai";
import { codeOf, errorCodes, type PublicError } from "../../errors.ts";
import { compact, isObject } from "../../value/json.ts";
import type { MessagePart, StoredReceipt } from "./message-parts.ts";
import type { TimedAttempt } from "./timeline.ts";
import type { PromptRecord } from "./variable-list.ts";

/** A stored message. Its texts keep references as they were written. */
export interface StoredMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly MessagePart[];
  /** The texts as the person saw them, one per text part. Absent if they equal the stored texts. */
  readonly display?: readonly string[];
  /** Sources of the values in `display`. Absent if there are none. */
  readonly receipt?: StoredReceipt;
  readonly timeline?: readonly TimedAttempt[];
  readonly metadata?: unknown;
  /** True if the model had seen untrusted content when it wrote this. */
  readonly tainted?: boolean;
  /** State of the turn's prompts. Absent while all values were in the messages. */
  readonly prompt?: PromptRecord;
  /** The pins of the inputs that would run, by approval. */
  readonly waiting?: Readonly<Record<string, string>>;
  /** The agent that continues the message. */
  readonly agent?: string;
  /** Why the model stopped. Absent if it finished normally. */
  readonly finishReason?: FinishReason;
  readonly createdAt: string;
}

/** The form in which a message's texts are read. */
export type MessageForm = "display" | "reference";

/** Converts a message to the form of AI SDK clients. */
export function toUIMessage(message: StoredMessage, form: MessageForm): UIMessage {
  const { id, role, parts, display, metadata } = message;
  let texts = 0;
  const shown = parts.map((part) => {
    // Names the variable of a person's file: the SDK refuses a path as a URL, unless the part has a reference.
    if (part.type === "file" && part.providerMetadata?.byref?.handle !== undefined) {
      const name = part.url.slice(part.url.lastIndexOf("/") + 1);
      return { ...part, providerReference: { byref: name } };
    }
    if (part.type !== "text") return part;
    const text = display?.[texts++];
    return form === "display" && text !== undefined ? { ...part, text } : part;
  });
  return compact({ id, role, parts: shown, metadata });
}

/** How the turn of an answer ended, as its metadata say. */
export function endOf({ metadata, finishReason: reason = "stop" }: StoredMessage) {
  const { error: given, stopped } = isObject(metadata) ? metadata : {};
  const code = given === undefined ? undefined : codeOf({ code: given });
  const error: PublicError | undefined = code && { code, message: errorCodes[code].title };
  return { finishReason: error ? "error" : reason, error, isStopped: stopped === true } as const;
}
