import { asSchema, type JSONSchema7, type ToolSet } from "ai";

const known = new WeakMap<object, JSONSchema7>();

/** Of a tool's input. Made once for each schema: it takes longer than all else a turn does to begin. */
export async function jsonSchemaOf({
  inputSchema,
}: Pick<ToolSet[string], "inputSchema">): Promise<JSONSchema7> {
  const made = known.get(inputSchema) ?? (await asSchema(inputSchema).jsonSchema);
  known.set(inputSchema, made);
  return made;
}
