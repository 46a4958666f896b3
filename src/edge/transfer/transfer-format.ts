import * as z from "zod";
import { promptStages } from "../../tool/runtime-tool.ts";
import { anyJson } from "../../tool/tool-input.ts";
import * as limits from "../../limits.ts";
import type { MovedInfo } from "../../store/variable.ts";
import { variableShape } from "../http/parameters.ts";

/**
 * A conversation as a file: NDJSON, one record a line. The first is the header; the last has the count and
 * digest of those before it. Bytes follow the record that they belong to, as `data` in base64.
 */
export const TRANSFER_VERSION = 1;

const text = z.string();
const time = text.refine((value) => !Number.isNaN(Date.parse(value)), "must be a time");
const count = z.int().min(0);
const name = text.min(1).max(255);
const names = z.array(text);
// Values that are only shown, never interpreted.
const any = z.looseObject({});

const labels = {
  visibility: z.enum(["model", "sealed", "secret"]),
  sources: z.array(name).max(1_000),
  trusted: z.boolean(),
  flags: z.array(z.enum(["composed", "derived", "failed"])).optional(),
};

const header = z.object({
  type: z.literal("byref"),
  version: z.literal(TRANSFER_VERSION),
  id: text.regex(/^[\w.-]{1,128}$/u),
  title: text.max(limits.maxTitleChars).nullable(),
  createdAt: time,
});

/** Required text fields by a part's type. Types of tools and data begin with `tool-` and `data-`. */
const partFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["text", ["text"]],
  ["reasoning", ["text"]],
  ["step-start", []],
  ["file", ["mediaType", "url"]],
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
  if (given.type === "file" && !/^(?:data:|\/conversations\/)/iu.test(String(url))) return false;
  return state !== "approval-requested" || z.object({ id: text }).safeParse(approval).success;
}, "is not a part that a message has");

const prompt = z.object({
  stage: z.enum(promptStages),
  lines: z.array(z.tuple([name, count, text])).optional(),
});

// Unknown fields are kept, including those of later versions.
const message = z.looseObject({
  id: name,
  role: z.enum(["user", "assistant"]),
  parts: z.array(part),
  display: names.optional(),
  metadata: z.unknown().optional(),
  tainted: z.boolean().optional(),
  prompt: prompt.optional(),
  waiting: z.record(text, text).optional(),
  deferred: z.record(text, z.unknown()).optional(),
  agent: text.optional(),
  finishReason: text.optional(),
  createdAt: time,
});

const call = { name, tool: text.optional(), input: anyJson.optional() };

const order = z.int().min(1);
const boolean = z.boolean();
const schemas = { name, text, names: labels.sources, json: anyJson, count, order, boolean, time };
// The table of fields defines the shape and the type.
const info = z.object(
  variableShape(schemas, ({ isMoved }) => isMoved === true),
) as unknown as z.ZodType<MovedInfo>;

const tombstone = z.object({
  ...call,
  version: z.int().min(1),
  inputDigest: text.optional(),
  evictedAt: time,
  reason: z.enum(["expired", "idle", "quota", "run_ended", "left_out"]),
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
        parameters: z.record(text, anyJson),
        outputPath: text.optional(),
      }),
    ),
    syntaxes: z.array(z.enum(["dollar", "mustache", "dagger"])),
    runNames: names,
    outputs: z.array(z.object({ name: text, mode: z.enum(["replace", "append", "merge", "new"]) })),
    order: z.enum(["data", "written"]),
  }),
  agent: text,
  tainted: z.boolean().optional(),
  after: z.record(text, names),
  createdAt: time,
});

const run = z.looseObject({
  id: name,
  plan: name,
  status: z.enum(["running", "waiting", "done", "failed", "cancelled"]),
  calls: z.record(
    text,
    z.looseObject({ status: z.enum(["waiting", "running", "done", "failed", "skipped"]) }),
  ),
  gates: z.record(text, z.looseObject({ approved: z.boolean() })),
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
      waiting: z.record(text, text),
    })
    .optional(),
};

/** A turn that has ended or waits: the state that the next turn continues from. */
const turn = z.object({
  ...pause,
  kind: z.literal("run").optional(),
  paused: z.object(pause).optional(),
  attempt: count,
  agent: text,
  ended: z.enum(["failed", "stopped"]).optional(),
  spent,
});

const event = z.looseObject({ id: z.int().min(1), at: time, type: name });

export const transferRecord = z.discriminatedUnion("type", [
  header,
  z.object({ type: z.literal("message"), message }),
  z.object({
    type: z.literal("variable"),
    info,
    run: name.optional(),
    inputDigest: text.optional(),
  }),
  // An earlier version of the variable before it.
  z.object({ type: z.literal("version"), info, undone: z.literal(true).optional() }),
  z.object({ type: z.literal("data"), base64: text }),
  z.object({ type: z.literal("tombstone"), tombstone }),
  z.object({ type: z.literal("numbers"), numbers: z.record(text, count) }),
  z.object({
    type: z.literal("file"),
    path: text,
    bytes: count,
    mediaType: name,
    ...labels,
    addition: z.object({ call: text, from: count }).optional(),
  }),
  z.object({ type: z.literal("plan"), plan }),
  z.object({ type: z.literal("run"), record: run, input: anyJson, state: anyJson.optional() }),
  z.object({ type: z.literal("turn"), head: turn }),
  z.object({ type: z.literal("events"), events: z.array(event) }),
  z.object({ type: z.literal("error"), code: text, message: text }),
  z.object({ type: z.literal("end"), records: count, sha256: text }),
]);

export type TransferRecord = z.infer<typeof transferRecord>;
export type TransferOf<Type extends TransferRecord["type"]> = Extract<
  TransferRecord,
  { readonly type: Type }
>;
