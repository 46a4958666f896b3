import * as z from "zod";
import * as limits from "../../../src/limits.ts";
import { json, type metadata } from "../../../src/internal.ts";
import {
  type eventLogs,
  runtimeTools,
  type StoredMessage,
  toolInputs,
  type TurnHead,
  variableShape,
} from "../../../src/internal-tool.ts";

/**
 * A conversation, or the variables of any Durable Object, as a file: NDJSON, one record a line. The first is the header;
 * the last has the count and digest of those before it. Bytes follow the record that they belong to, as `data` in base64.
 */
export const TRANSFER_VERSION = 1;

const text = z.string();
const time = text.refine((value) => !Number.isNaN(Date.parse(value)), "must be a time");
const count = z.int().min(0);
const name = text.min(1).max(255);
const names = z.array(text);

/** Returns the schema with the type of what was written: Zod's has no readonly, and says that fields may be undefined. */
function typed<Value>(schema: z.ZodType): z.ZodType<Value> {
  return schema as unknown as z.ZodType<Value>;
}

/** Schemas of Zod's own records drop a key `__proto__`. */
const recordOf = <Value extends z.ZodType>(value: Value) =>
  z
    .preprocess(
      (given) => (json.isObject(given) ? Object.entries(given) : given),
      z.array(z.tuple([text, value])),
    )
    .transform((entries) => Object.fromEntries(entries));

const labels = {
  visibility: z.enum(["model", "sealed", "secret"]),
  sources: z.array(text).max(1_000),
  trusted: z.boolean(),
  // Files of earlier versions may have the flag `failed`, which means nothing any more.
  flags: z
    .array(z.enum(["composed", "derived", "failed"]))
    .transform((flags) => flags.filter((flag) => flag !== "failed"))
    .optional(),
};

const order = z.int().min(1);
const variableSchemas = {
  name,
  text,
  names: labels.sources,
  json: toolInputs.anyJson,
  count,
  order,
  boolean: z.boolean(),
  time,
  versions: recordOf(count),
  stale: z.unknown(),
};
// The table of fields defines the shape and the type.
const info = typed<metadata.MovedInfo>(
  z.object(variableShape(variableSchemas, ({ isMoved }) => isMoved === true)),
);

const tombstone = z.object({
  name,
  tool: text.optional(),
  input: toolInputs.anyJson.optional(),
  version: order,
  inputDigest: text.optional(),
  isRepeatable: z.literal(true).optional(),
  evictedAt: time,
  reason: z.enum(["expired", "idle", "quota", "run_ended", "left_out"]),
});

// Values that are only shown, never interpreted.
const any = z.looseObject({});

/** Required text fields by a part's type. Types of tools and data begin with `tool-` and `data-`. */
const partFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["text", ["text"]],
  ["reasoning", ["text"]],
  ["step-start", []],
  ["file", ["mediaType", "url"]],
  ["reasoning-file", ["mediaType", "url"]],
  ["custom", ["kind"]],
  ["source-url", ["sourceId", "url"]],
  ["source-document", ["sourceId", "mediaType", "title"]],
  ["dynamic-tool", ["toolName", "toolCallId", "state"]],
  ["tool-", ["toolCallId", "state"]],
  ["data-", []],
]);

const TOOL_STATE =
  /^(?:input-available|approval-(?:requested|responded)|output-(?:available|error|denied))$/u;

const part = z.looseObject({ type: text }).refine((given) => {
  const fields = partFields.get(given.type) ?? partFields.get(given.type.slice(0, 5));
  if (fields?.every((field) => typeof given[field] === "string") !== true) return false;
  const { state, approval, url } = given;
  if (fields.includes("state") && !TOOL_STATE.test(String(state))) return false;
  // No URL is fetched: a file is inline, or a variable.
  if (given.type.endsWith("file") && !/^(?:data:|\/conversations\/)/iu.test(String(url)))
    return false;
  return state !== "approval-requested" || z.object({ id: text }).safeParse(approval).success;
}, "is not a part that a message has");

const prompt = z.object({
  stage: z.enum(runtimeTools.promptStages),
  hasHandle: z.literal(true).optional(),
  lines: z.array(z.tuple([name, count, text])).optional(),
  tools: z.array(text).optional(),
});

const receipt = z.looseObject({
  spans: z.array(
    z.looseObject({
      text: count,
      start: count,
      end: count,
      source: text,
      variable: name,
      path: text,
    }),
  ),
});

const timed = z.looseObject({
  startedAt: time,
  durationMs: z.number(),
  agent: text,
  model: text,
  provider: text,
  activities: z.array(
    z.looseObject({
      kind: z.enum(["agent", "model", "tool"]),
      name: text,
      depth: count,
      startMs: z.number(),
      durationMs: z.number(),
    }),
  ),
});

// Unknown fields are kept, including those of later versions.
const message = z.looseObject({
  id: name,
  role: z.enum(["user", "assistant"]),
  parts: z.array(part),
  display: names.optional(),
  receipt: receipt.optional(),
  timeline: z.array(timed).optional(),
  metadata: z.unknown().optional(),
  tainted: z.boolean().optional(),
  prompt: prompt.optional(),
  waiting: recordOf(text).optional(),
  deferred: recordOf(z.unknown()).optional(),
  agent: text.optional(),
  finishReason: text.optional(),
  createdAt: time,
});

const plan = z.looseObject({
  id: name,
  status: z.enum(["proposed", "approved", "running", "done", "failed", "cancelled"]),
  plan: z.looseObject({
    name: text.optional(),
    format: z.enum(["json", "capability-xml", "template"]),
    input: any.optional(),
    calls: z.array(
      z.object({
        id: text,
        tool: text,
        parameters: recordOf(toolInputs.anyJson),
        outputPath: text.optional(),
        reads: names.optional(),
      }),
    ),
    syntaxes: z.array(z.enum(["dollar", "mustache", "dagger"])),
    runNames: names,
    outputs: z.array(z.object({ name: text, mode: z.enum(["replace", "append", "merge", "new"]) })),
    order: z.enum(["data", "written"]),
  }),
  agent: text,
  tainted: z.boolean().optional(),
  after: recordOf(names),
  createdAt: time,
});

const run = z.looseObject({
  id: name,
  plan: name,
  status: z.enum(["running", "waiting", "done", "failed", "cancelled"]),
  calls: recordOf(
    z.looseObject({ status: z.enum(["waiting", "running", "done", "failed", "skipped"]) }),
  ),
  gates: recordOf(z.looseObject({ approved: z.boolean() })),
  keep: z.boolean(),
  needs: names,
  createdAt: time,
});

const spent = z.object({ modelCalls: count, toolCalls: count, tokens: count });
const pause = {
  id: name,
  needs: names.optional(),
  counts: z
    .looseObject({
      spent,
      usage: any,
      savings: any,
      tainted: z.boolean(),
      waiting: recordOf(text),
    })
    .optional(),
};

const turn = z.object({
  ...pause,
  kind: z.literal("run").optional(),
  paused: z.object(pause).optional(),
  attempt: count,
  agent: text,
  ended: z.enum(["failed", "stopped"]).optional(),
  spent,
});

const event = z.looseObject({
  id: order,
  at: time,
  type: name,
  // Events of older versions have fewer fields of a variable.
  variable: z.looseObject({ name, sources: names }).optional(),
  file: z.looseObject({ path: text, bytes: count.optional() }).optional(),
  query: z.looseObject({ variables: names, digest: text }).optional(),
  reason: text.optional(),
  turn: text.optional(),
  plan: text.optional(),
  run: text.optional(),
  tool: text.optional(),
  toolCallId: text.optional(),
  code: text.optional(),
});

/** True if the bytes that follow are a file that is read as records, such as a CSV. */
const isTable = z.literal(true).optional();

export const line = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("byref"),
    version: z.literal(TRANSFER_VERSION),
    id: text.regex(/^[\w.-]{1,128}$/u),
    title: text.max(limits.maxLineChars).nullable(),
    createdAt: time,
  }),
  z.object({
    type: z.literal("variable"),
    info,
    isTable,
    run: name.optional(),
    inputDigest: text.optional(),
  }),
  // An earlier version of the variable before it.
  z.object({ type: z.literal("version"), info, isTable, undone: z.literal(true).optional() }),
  z.object({ type: z.literal("data"), base64: text }),
  z.object({ type: z.literal("tombstone"), tombstone: typed<metadata.Tombstone>(tombstone) }),
  z.object({ type: z.literal("numbers"), numbers: recordOf(count) }),
  z.object({ type: z.literal("message"), message: typed<StoredMessage>(message) }),
  z.object({
    type: z.literal("file"),
    path: text,
    bytes: count,
    mediaType: text,
    ...labels,
    addition: z.object({ call: text, from: count }).optional(),
  }),
  z.object({ type: z.literal("plan"), plan }),
  z.object({
    type: z.literal("run"),
    record: run,
    input: toolInputs.anyJson,
    state: toolInputs.anyJson.optional(),
  }),
  z.object({ type: z.literal("turn"), head: typed<EndedTurn>(turn) }),
  z.object({
    type: z.literal("events"),
    events: typed<readonly eventLogs.ConversationEvent[]>(z.array(event)),
  }),
  // In place of the end: what has ended the export.
  z.object({ type: z.literal("error"), code: text, message: text }),
  z.object({
    type: z.literal("end"),
    records: count,
    sha256: text,
    /** A signature of the digest, if the server that wrote the file has a key. */
    seal: text.optional(),
  }),
]);

/** A turn that has ended or waits: the state that the next turn continues from. */
export type EndedTurn = Omit<TurnHead, "isOpen" | "conversation">;
export type Line = z.infer<typeof line>;
export type LineOf<Type extends Line["type"]> = Extract<Line, { readonly type: Type }>;
/** A line before the end. */
export type TransferRecord = Exclude<Line, LineOf<"error" | "end">>;
