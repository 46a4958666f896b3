import * as z from "zod";
import { formatPath } from "../../../../src/references.ts";

const segment = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ index: z.int() }),
  z.strictObject({ each: z.literal(true) }),
  z.strictObject({ from: z.exactOptional(z.int()), to: z.exactOptional(z.int()) }),
]);

const path = z.array(segment);
/** From 1. */
const line = z.int().min(1);
const variable = z.object({ scheme: z.literal("variable"), name: z.string(), path });
/** A file in the conversation's folder, or a file pattern. Contains `{today}` as written. */
const file = z.object({ scheme: z.literal("file"), path: z.string() });
const target = z.union([variable, file]);

export const writeModes = ["append", "replace", "new"] as const;

/** A step of a template as it is stored as JSON: one question to a model. */
export const templateStepSchema = z.object({
  /** The step's `## ` heading. Absent for text before the first heading. */
  title: z.exactOptional(z.string()),
  line,
  inputs: z.array(
    z.object({
      target,
      /** If true, the step is skipped when the input is missing. */
      required: z.boolean(),
      /** If true, the model receives the name instead of the value. */
      pathsOnly: z.boolean(),
      /** The selected part. Continues where the target's own path ends. */
      select: path,
      line,
    }),
  ),
  /** Places to which the answer is written. */
  outputs: z.array(z.object({ target, line })),
  /** How outputs are written. Default: `append`. */
  writeMode: z.enum(writeModes),
  /** A line above the written answer. Contains `{today}` as written. */
  header: z.exactOptional(z.string()),
  /** The step's tools, and where their results are saved. */
  tools: z.array(z.object({ name: z.string(), target: z.exactOptional(variable), line })),
  /** All lines that are neither directives nor the step's heading, unchanged, including line breaks. */
  prompt: z.string(),
});

type Deep<Value> = { readonly [Key in keyof Value]: Deep<Value[Key]> };

export type TemplateStep = Deep<z.infer<typeof templateStepSchema>>;
export type Input = TemplateStep["inputs"][number];
export type Output = TemplateStep["outputs"][number];
export type ToolUse = TemplateStep["tools"][number];
export type TemplateWriteMode = TemplateStep["writeMode"];
export type VariableTarget = Deep<z.infer<typeof variable>>;
export type FileTarget = Deep<z.infer<typeof file>>;
export type Target = VariableTarget | FileTarget;

/** Formats a target as in a directive: `variable:results[0].id`, `file:notes/*.md`. */
export function formatTarget(target: Target): string {
  if (target.scheme === "file") return `file:${target.path}`;
  return `variable:${target.name}${formatPath(target.path)}`;
}

const TODAY = "{today}";

/** `today`: a date in UTC, `2026-11-22`. It is fixed when a run begins, so that a run past midnight uses one day. */
export function fillPlaceholders(text: string, { today }: { readonly today: string }): string {
  return text.replaceAll(TODAY, () => today);
}

/** The first unknown `{word}`. It would otherwise become part of the file's name. */
export function unknownPlaceholder(text: string): string | undefined {
  const [found] = text.replaceAll(TODAY, "").match(/\{\w+\}/) ?? [];
  return found;
}
