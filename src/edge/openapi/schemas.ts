import * as z from "zod";
import { type ErrorCode, errorCodes } from "../../errors.ts";
import { anyJson } from "../../tool/tool-input.ts";
import { variableShape } from "../http/parameters.ts";

/**
 * Schemas of the responses, under their names in the document. They validate nothing at run time; tests check
 * the responses.
 */

const time = z.string().meta({ format: "date-time" });
const count = z.int().min(0);
const names = z.array(z.string());

const text = z.string();
/** Any JSON. */
export const json = anyJson;

export const health = z.strictObject({ ok: z.literal(true), version: text });

export const agents = z.strictObject({
  agents: z.array(z.strictObject({ name: text, description: text })),
});

const status = z.enum(["idle", "running", "waiting"]).describe("waiting: for a person");

const listed = z.strictObject({
  id: text,
  title: text.nullable(),
  status,
  createdAt: time,
  updatedAt: time,
});

export const conversations = z.strictObject({
  conversations: z.array(listed),
  next: text.optional().describe("For before, where there are more"),
});

export const conversation = listed.extend({
  messages: count,
  variables: count,
  bytes: count.describe("Of all values"),
});

export const message = z
  .object({
    id: text,
    role: z.enum(["system", "user", "assistant"]),
    parts: z.array(z.object({ type: text })),
    metadata: z.unknown().optional(),
  })
  .describe("A UIMessage of the AI SDK");

export const messages = z.strictObject({
  messages: z.array(message),
  next: text.optional().describe("For before, where there are older ones"),
});

export const variable = z.strictObject(
  variableShape({
    name: text,
    text,
    names,
    json,
    count,
    order: z.int().min(1),
    boolean: z.boolean(),
    time,
  }),
);

export const variables = z.strictObject({
  variables: z.array(variable),
  missing: names.optional().describe("The requested names that no variable has"),
  next: count.optional().describe("For after, where there are more"),
});

export const deleted = z.strictObject({ deleted: names });

export const interpolated = z.strictObject({
  text,
  unresolved: z.array(z.looseObject({ code: text, message: text })),
});

const usage = z
  .strictObject({
    inputTokens: count.optional(),
    outputTokens: count.optional(),
    totalTokens: count.optional(),
  })
  .describe("As far as the provider tells it");

const savings = z
  .strictObject({
    promptChars: count.describe("Sent to the model"),
    inlinePromptChars: count.describe("With every handle replaced by its value"),
    authoredChars: count.describe("What the model wrote as references"),
    resolvedChars: count.describe("What these stood for"),
  })
  .describe("Counted, in characters");

const cost = z
  .strictObject({ rowsRead: count, rowsWritten: count, alarms: count })
  .describe("Alarms count among the rows written");

export const turn = z.strictObject({
  message,
  variables: z.array(variable),
  usage,
  savings,
  cost,
});

const event = z
  .looseObject({ id: z.int().min(1), at: time, type: text })
  .describe("Names, sizes, tools and times; never a value");

export const events = z.strictObject({
  events: z.array(event),
  next: count.optional().describe("For after, where there are more"),
});

export const stopped = z.strictObject({ stopped: z.boolean() });
export const ticket = z.strictObject({ ticket: text });

const codes = Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]];

export const problem = z
  .looseObject({
    type: text,
    title: text,
    status: z.int(),
    detail: text,
    code: z.enum(codes).describe("Stable: to be relied on"),
  })
  .describe("RFC 9457; what a code says beside it is in members of its own");
