import { compact, isObject } from "../../value/json.ts";
import * as limits from "../../limits.ts";
import * as z from "zod";
import { ByrefError, requireAtMost } from "../../errors.ts";
import { anyJson, anyJsonObject } from "../../tool/tool-input.ts";
import type { ApprovalResponse } from "../../turn/waiting-calls.ts";
import { CONVERSATION_ID } from "../conversation-of.ts";
import { parse } from "../http/endpoint.ts";
import { type IncomingPart, variableAt } from "../../turn/history/receive-message.ts";
import { isBlankText } from "../../value/characters.ts";
import { isStrict } from "../../value/strict-json.ts";

const messageId = z.string().min(1).max(128);
const textPart = z.object({ type: z.literal("text"), text: z.string() });

const filePart = z.object({
  type: z.literal("file"),
  mediaType: z.string().min(1).max(255),
  filename: z.string().max(255).optional(),
  url: z.string(),
});

/** A message from a person's client. Parts other than text and files are rejected by name. */
const userMessage = z.object({
  id: messageId.optional(),
  role: z.literal("user").default("user"),
  parts: z.array(z.looseObject({ type: z.string() })).min(1),
  metadata: z
    .unknown()
    .refine((given) => isStrict(given), "has a key that clients refuse: `__proto__`")
    .optional(),
});

const turnFields = {
  agent: z.string().max(128).optional(),
  input: anyJsonObject.optional(),
};

const EXAMPLE_MESSAGE = { id: "1", role: "user", parts: [{ type: "text", text: "Hello" }] };

/** `POST /conversations`: the body of a stock `useChat`. All but the last message is dropped. */
export const chatBody = z.object({
  ...turnFields,
  // An invalid id has its own error code.
  id: z.string().meta({ pattern: CONVERSATION_ID.source }),
  messages: z
    .array(z.unknown().meta({ examples: [EXAMPLE_MESSAGE] }))
    .min(1, "must contain a message"),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  messageId: z.string().nullish(),
});

/** `POST /conversations/:id/messages`. The parts are counted before they are parsed. */
export const messageBody = z.preprocess(
  (given) => {
    requireFewParts(isObject(given) ? given.message : undefined);
    return given;
  },
  z.object({ ...turnFields, message: z.union([z.string().min(1), userMessage]) }),
);

const path = z.string();

/** An operation of a JSON Patch (RFC 6902). */
const patchOperation = z.union([
  z.object({ op: z.enum(["add", "replace", "test"]), path, value: anyJson }),
  z.object({ op: z.literal("remove"), path }),
  z.object({ op: z.enum(["move", "copy"]), path, from: path }),
]);

/** `POST …/approvals/:approval`; `run` is needed if several runs wait for the same gate. */
export const approvalBody = z.object({
  approved: z.boolean(),
  reason: z.string().max(limits.maxReasonChars).optional(),
  input: anyJsonObject.optional().describe("The input to run in place of the one that waits"),
  patch: z
    .array(patchOperation)
    .max(limits.maxBatchItems)
    .optional()
    .describe("A JSON Patch (RFC 6902) of `input`, by default of the one that waits"),
  run: z.string().max(64).optional(),
});

const respondedPart = approvalBody.extend({ id: z.string() });

export interface UserMessage {
  readonly id?: string;
  readonly parts: readonly IncomingPart[];
  /** The client's own data. No model sees it. */
  readonly metadata?: unknown;
}

/** A request for a turn. */
export interface TurnRequest {
  readonly message?: UserMessage | undefined;
  /** True if a stored question is to be answered again. */
  readonly isRepeated?: boolean;
  /** The question to answer again, or the message that `message` replaces. */
  readonly messageId?: string | undefined;
  /** The message that the client wants another answer for, if it names one: turns after it are removed. */
  readonly named?: string | undefined;
  /** Decisions on waiting calls; then there is no message. */
  readonly approvals?: readonly ApprovalResponse[];
  /** The run whose gate is decided. */
  readonly run?: string | undefined;
  /** The conversation's id in its routes. */
  readonly conversation?: string;
  readonly agent?: string | undefined;
  readonly input?: z.infer<typeof turnFields.input>;
  /** The client's key from the header. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * The turn that a chat body requests. To request another answer, a client sends its messages up to the question. To
 * edit a message, it sends the new one with the id of the old one as `messageId`.
 */
export function turnIn(body: z.infer<typeof chatBody>): TurnRequest {
  const { agent, input, trigger, messages } = body;
  const last = messages.at(-1);
  if (trigger === "submit-message" && isObject(last) && last.role === "assistant") {
    return { approvals: approvalsIn(last) };
  }
  if (trigger === "submit-message") {
    const message = parseMessage(last, body.id);
    return { agent, input, message, messageId: body.messageId ?? undefined };
  }
  // Contains the question in case it never arrived.
  const isQuestion = isObject(last) && last.role === "user";
  const message = isQuestion ? { message: parseMessage(last, body.id) } : {};
  const named = body.messageId ?? undefined;
  const messageId = isObject(last) && typeof last.id === "string" ? last.id : undefined;
  return { agent, input, isRepeated: true, messageId, named, ...message };
}

/** Throws `limit_exceeded`. */
function requireFewParts(message: unknown): void {
  const advice = "Send several messages, or put the files into variables.";
  requireAtMost("maxBatchItems", partsIn(message).length, advice);
}

function partsIn(message: unknown): readonly unknown[] {
  return isObject(message) && Array.isArray(message.parts) ? message.parts : [];
}

/** A client's copy of an answer is not trusted, except for the person's decisions. */
function approvalsIn(message: Readonly<Record<string, unknown>>): readonly ApprovalResponse[] {
  const approvals = partsIn(message).flatMap((part, index) => {
    if (!isObject(part) || part.state !== "approval-responded") return [];
    const decided = parse(respondedPart, part.approval, `message.parts.${index}.approval`);
    return [approvalOf(decided.id, decided)];
  });
  // The calls of the others still wait, and their decisions may be sent again.
  if (approvals.length > 0) return approvals.slice(0, limits.maxBatchItems);
  throw new ByrefError("bad_request", "The last message is an answer without approvals.");
}

/** A decision, from `POST …/approvals/:approval` or a client's part. */
export function approvalOf(
  approvalId: string,
  { approved, reason, input, patch }: z.infer<typeof approvalBody>,
): ApprovalResponse {
  return { approvalId, approved, ...compact({ reason, ...(approved && { input, patch }) }) };
}

/** Throws `bad_request`, `bad_value` or `limit_exceeded`. */
export function parseMessage(message: unknown, conversation: string): UserMessage {
  if (typeof message === "string")
    return parseMessage({ parts: [{ type: "text", text: message }] }, conversation);
  requireFewParts(message);
  const { id, parts, metadata } = parse(userMessage, message, "message");
  const known = parts.map((part, index) => partFrom(part, conversation, `message.parts.${index}`));
  if (known.every((part) => part.type === "text" && isBlankText(part.text))) {
    throw new ByrefError("bad_request", "The message has no text.");
  }
  return { ...compact({ id, metadata }), parts: known };
}

function partFrom(part: { readonly type: string }, conversation: string, at: string): IncomingPart {
  if (part.type === "text") return parse(textPart, part, at);
  const { url } = part.type === "file" && "url" in part ? part : {};
  const isTaken =
    typeof url === "string" &&
    (/^data:/iu.test(url) || variableAt(url, conversation) !== undefined);
  if (isTaken) return parse(filePart, part, at);
  const what = part.type === "file" ? "a file at another URL" : `type ${part.type}`;
  const message = `${at} has ${what}; a message may hold text, and files as data URLs or as this conversation's messages link to them.`;
  throw new ByrefError("bad_value", message);
}
