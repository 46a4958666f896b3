import * as z from "zod";
import { toolInputs, runtimeTools } from "../../../src/internal-tool.ts";
import { fields, type FrameLine, labels, variableRecords } from "./variable-records.ts";

const { text, time, count, name, names, recordOf } = fields;
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

const event = z.looseObject({
  id: z.int().min(1),
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

/** A conversation as a file: its variables, and what else it has. */
export const transferRecord = z.discriminatedUnion("type", [
  ...variableRecords,
  z.object({ type: z.literal("message"), message }),
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
  z.object({ type: z.literal("turn"), head: turn }),
  z.object({ type: z.literal("events"), events: z.array(event) }),
]);

export type TransferRecord = z.infer<typeof transferRecord>;
/** The records of a file without its frame. */
export type OwnRecord = Exclude<TransferRecord, FrameLine>;
export type TransferOf<Type extends TransferRecord["type"]> = Extract<
  TransferRecord,
  { readonly type: Type }
>;
