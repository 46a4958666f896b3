import { asSchema, type JSONSchema7, type ToolSet } from "ai";
import { ByrefError, messageOf } from "../errors.ts";

const known = new WeakMap<object, JSONSchema7>();

/**
 * The JSON Schema of a tool's input. Computed once for each schema, because it takes longer than the rest of a
 * turn's start. Throws `invalid_tool_schema` for a schema that has no JSON Schema, such as that of a Date.
 */
export async function jsonSchemaOf(
  { inputSchema }: Pick<ToolSet[string], "inputSchema">,
  tool: string,
): Promise<JSONSchema7> {
  const made = known.get(inputSchema) ?? (await converted(inputSchema, tool));
  known.set(inputSchema, made);
  return made;
}

async function converted(schema: ToolSet[string]["inputSchema"], tool: string) {
  try {
    return await asSchema(schema).jsonSchema;
  } catch (error) {
    const at = await faultyIn(schema);
    const where = at.length === 0 ? "" : ` at ${at.join(", ")}`;
    const message = `The inputSchema of the tool ${tool} has no JSON Schema${where}: ${messageOf(error)}`;
    throw new ByrefError("invalid_tool_schema", message, { tool, at });
  }
}

/** The properties of a Zod object that have no JSON Schema. */
async function faultyIn(schema: object): Promise<readonly string[]> {
  const shape: unknown = "shape" in schema ? schema.shape : undefined;
  const faulty: string[] = [];
  for (const [name, property] of Object.entries(shape ?? {})) {
    try {
      await asSchema(property).jsonSchema;
    } catch {
      faulty.push(name);
    }
  }
  return faulty;
}
