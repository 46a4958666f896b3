import * as z from "zod";

const segment = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ index: z.int() }),
  z.strictObject({ each: z.literal(true) }),
  z.strictObject({ from: z.exactOptional(z.int()), to: z.exactOptional(z.int()) }),
]);

const path = z.array(segment);
const line = z.int().min(1);
const variable = z.object({ scheme: z.literal("variable"), name: z.string(), path });
const target = z.union([variable, z.object({ scheme: z.literal("file"), path: z.string() })]);

/** A `TemplateStep` that has been JSON meanwhile. */
export const templateStepSchema = z.object({
  title: z.exactOptional(z.string()),
  line,
  inputs: z.array(
    z.object({ target, required: z.boolean(), pathsOnly: z.boolean(), select: path, line }),
  ),
  outputs: z.array(z.object({ target, line })),
  writeMode: z.enum(["append", "replace", "new"]),
  header: z.exactOptional(z.string()),
  tools: z.array(z.object({ name: z.string(), target: z.exactOptional(variable), line })),
  prompt: z.string(),
});
