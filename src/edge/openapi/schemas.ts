import * as z from "zod";
import { later } from "./later.ts";
import { type ErrorCode, errorCodes } from "../../errors.ts";
import { anyJson } from "../../tool/tool-input.ts";
import { variableShape } from "../../tool/variable-shape.ts";

/**
 * Schemas of the responses, under their names in the document. They validate nothing at run time; tests check
 * the responses.
 */

const time = z.string().meta({ format: "date-time" });
const count = z.int().min(0);
const names = z.array(z.string());

const text = z.string();
export const json = anyJson;

export const health = later(() => z.strictObject({ ok: z.literal(true), version: text }));

export const agents = later(() =>
  z.strictObject({
    agents: z.array(z.strictObject({ name: text, description: text })),
    model: z
      .strictObject({ provider: text.optional(), id: text })
      .optional()
      .describe("Absent where a setting that it needs is missing"),
    page: z
      .looseObject({})
      .optional()
      .describe("PageOptions: how the page presents the application"),
  }),
);

export const prompt = later(() =>
  z.looseObject({
    agent: text,
    instructions: z.strictObject({ text, chars: count }).describe("With what Byref adds"),
    tools: z.array(z.looseObject({ name: text, chars: count, sent: z.boolean() })),
    messages: z.array(z.strictObject({ role: text, chars: count })),
    sentChars: count.describe("Instructions, tools and messages"),
    laterChars: count.describe("The tools and the guide that are not sent yet"),
  }),
);

const listed = later(() =>
  z.strictObject({
    id: text,
    title: text.nullable(),
    status: z.enum(["idle", "running", "waiting"]).describe("waiting: needs a person's approval"),
    createdAt: time,
    updatedAt: time,
  }),
);

const progress = later(() => z.strictObject({ startedAt: time, deleted: count, remaining: count }));
export const deletion = later(() => z.strictObject({ deletion: progress() }));
export const conversations = later(() =>
  z.strictObject({
    conversations: z.array(listed()),
    next: text.optional().describe("For the next page: before"),
    deletion: progress().optional().describe("Of the tenant's conversations, until it is done"),
  }),
);

export const conversation = later(() =>
  listed().extend({ messages: count, variables: count, bytes: count }),
);

export const message = later(() =>
  z
    .object({
      id: text,
      role: z.enum(["system", "user", "assistant"]),
      parts: z.array(z.object({ type: text })),
      metadata: z.unknown().optional(),
    })
    .describe("A UIMessage of the AI SDK"),
);

export const messages = later(() =>
  z.strictObject({
    messages: z.array(message()),
    next: text.optional().describe("For the next page: before"),
  }),
);

const place = { part: count, start: count, end: count };

export const receipt = later(() =>
  z.strictObject({
    message: text,
    spans: z
      .array(
        z.strictObject({
          ...place,
          reference: text.describe("As the model wrote it"),
          variable: text,
          path: text.describe("Empty for all of the value"),
          version: z.int().min(1).optional().describe("Absent for a secret"),
          digest: text
            .optional()
            .describe("32 hexadecimal digits of SHA-256 of the value as JSON with sorted keys"),
          tool: text.optional(),
          call: text.optional().describe("The id of the tool call that returned the variable"),
          at: time.optional().describe("When that version was written"),
          remade: z.literal(true).optional().describe("Set if it was evicted, and made again"),
        }),
      )
      .describe("Places in the parts of the message as displayed, in UTF-16 code units"),
    typedFigures: z
      .array(z.strictObject({ ...place, text }))
      .describe("Numbers of two or more digits that no reference covers"),
    complete: z.boolean().describe("False if both lists end at the last span"),
    changes: z
      .array(
        z
          .looseObject({ call: text, tool: text, effective: text })
          .describe("With `proposed` by the model and `approved` by a person; both as written"),
      )
      .optional()
      .describe("Calls that a person approved with another input"),
  }),
);

export const timeline = later(() =>
  z.strictObject({
    message: text,
    attempts: z
      .array(
        z.looseObject({
          startedAt: time,
          durationMs: count,
          agent: text,
          activities: z
            .array(z.looseObject({ kind: z.enum(["agent", "model", "tool"]), name: text }))
            .describe("With times in milliseconds from the start of the attempt"),
        }),
      )
      .describe("More than one if the turn waited for a person"),
  }),
);

export const variable = later(() =>
  z.strictObject(
    variableShape({
      name: text,
      text,
      names,
      json,
      count,
      order: z.int().min(1),
      boolean: z.boolean(),
      time,
      versions: z.record(text, count),
      stale: z.strictObject({
        madeOf: z.array(z.strictObject({ name: text, version: count, now: count })),
      }),
    }),
  ),
);

export const variables = later(() =>
  z.strictObject({
    variables: z.array(variable()),
    missing: names.optional().describe("The requested names that no variable has"),
    next: count.optional().describe("For the next page: after"),
  }),
);

export const deleted = later(() => z.strictObject({ deleted: names }));

export const interpolated = later(() =>
  z.strictObject({ text, unresolved: z.array(z.looseObject({ code: text, message: text })) }),
);

export const turn = later(() =>
  z.strictObject({
    message: message(),
    variables: z.array(variable()),
    usage: z.strictObject({
      inputTokens: count.optional(),
      cachedInputTokens: count.optional().describe("Of these, from the provider's cache"),
      outputTokens: count.optional(),
      totalTokens: count.optional(),
    }),
    savings: z
      .strictObject({
        promptChars: count.describe("Sent to the model, tools included"),
        inlinePromptChars: count.describe("With values, at most the context window in each call"),
        wouldNotFit: count.optional().describe("Calls over the context window with values"),
        authoredChars: count.describe("Written by the model"),
        resolvedChars: count.describe("After replacement"),
      })
      .describe("In characters"),
    cost: z
      .strictObject({ rowsRead: count, rowsWritten: count, alarms: count })
      .describe("rowsWritten includes alarms"),
    finishReason: z
      .enum(["length", "content-filter", "other"])
      .optional()
      .describe("Why the answer is not complete. Absent if it is"),
  }),
);

export const events = later(() =>
  z.strictObject({
    events: z.array(
      z.looseObject({ id: z.int().min(1), at: time, type: text }).describe("Without values"),
    ),
    next: count.optional().describe("For the next page: after"),
  }),
);

export const stopped = later(() => z.strictObject({ stopped: z.boolean() }));
export const ticket = later(() => z.strictObject({ ticket: text }));

const codes = Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]];

export const problem = later(() =>
  z
    .looseObject({
      type: text,
      title: text,
      status: z.int(),
      detail: text,
      code: z.enum(codes).describe("Stable"),
      instance: text
        .optional()
        .describe("Of a failure of the server: the id of its line in the log"),
    })
    .describe("RFC 9457; some codes add members"),
);
