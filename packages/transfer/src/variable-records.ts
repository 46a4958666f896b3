import * as z from "zod";
import * as limits from "../../../src/limits.ts";
import { json, type metadata } from "../../../src/internal.ts";
import { toolInputs, variableShape } from "../../../src/internal-tool.ts";

/**
 * Variables as a file: NDJSON, one record a line. The first is the header; the last has the count and digest of
 * those before it. Bytes follow the record that they belong to, as `data` in base64. The file of a whole
 * conversation has further records (`transfer-format.ts`).
 */
export const TRANSFER_VERSION = 1;

const text = z.string();
const time = text.refine((value) => !Number.isNaN(Date.parse(value)), "must be a time");
const count = z.int().min(0);
const name = text.min(1).max(255);
const names = z.array(text);

/** Schemas of Zod's own records drop a key `__proto__`. */
const recordOf = <Value extends z.ZodType>(value: Value) =>
  z
    .preprocess(
      (given) => (json.isObject(given) ? Object.entries(given) : given),
      z.array(z.tuple([text, value])),
    )
    .transform((entries) => Object.fromEntries(entries));

/** Schemas that other records use too. */
export const fields = { text, time, count, name, names, recordOf };

export const labels = {
  visibility: z.enum(["model", "sealed", "secret"]),
  sources: z.array(text).max(1_000),
  trusted: z.boolean(),
  // Files of earlier versions may have the flag `failed`, which means nothing any more.
  flags: z
    .array(z.enum(["composed", "derived", "failed"]))
    .transform((flags) => flags.filter((flag) => flag !== "failed"))
    .optional(),
};

const header = z.object({
  type: z.literal("byref"),
  version: z.literal(TRANSFER_VERSION),
  id: text.regex(/^[\w.-]{1,128}$/u),
  title: text.max(limits.maxLineChars).nullable(),
  createdAt: time,
});

const call = { name, tool: text.optional(), input: toolInputs.anyJson.optional() };

const order = z.int().min(1);
const boolean = z.boolean();
const variableSchemas = {
  name,
  text,
  names: labels.sources,
  json: toolInputs.anyJson,
  count,
  order,
  boolean,
  time,
  versions: recordOf(count),
  stale: z.unknown(),
};
// The table of fields defines the shape and the type.
const info = z.object(
  variableShape(variableSchemas, ({ isMoved }) => isMoved === true),
) as unknown as z.ZodType<metadata.MovedInfo>;

const tombstone = z.object({
  ...call,
  version: z.int().min(1),
  inputDigest: text.optional(),
  evictedAt: time,
  reason: z.enum(["expired", "idle", "quota", "run_ended", "left_out"]),
});

const data = z.object({ type: z.literal("data"), base64: text });
const failure = z.object({ type: z.literal("error"), code: text, message: text });
const end = z.object({
  type: z.literal("end"),
  records: count,
  sha256: text,
  /** A signature of the digest, if the server that wrote the file has a key. */
  seal: text.optional(),
});

/** True if the bytes that follow are a file that is read as records, such as a CSV. */
const isTable = z.literal(true).optional();

export const variableRecords = [
  header,
  z.object({
    type: z.literal("variable"),
    info,
    isTable,
    run: name.optional(),
    inputDigest: text.optional(),
  }),
  // An earlier version of the variable before it.
  z.object({ type: z.literal("version"), info, isTable, undone: z.literal(true).optional() }),
  data,
  z.object({ type: z.literal("tombstone"), tombstone }),
  z.object({ type: z.literal("numbers"), numbers: recordOf(count) }),
  failure,
  end,
] as const;

/** A record of a file that has variables only. */
export const variableRecord = z.discriminatedUnion("type", variableRecords);

type VariableLine = z.infer<typeof variableRecord>;
export type LineOf<Type extends VariableLine["type"]> = Extract<
  VariableLine,
  { readonly type: Type }
>;
/** Records that any file may have: its frame, and bytes. */
export type FrameLine = LineOf<"byref" | "data" | "error" | "end">;
