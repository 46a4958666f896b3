import { asSchema, type JSONSchema7, type ToolSet } from "ai";
import { type Definition, schemaAt, typesIn } from "../tool/json-schema.ts";
import { issuesOf, jsonSchemaOf } from "../tool/tool-input.ts";
import { isFilledText, type ParameterText } from "./parameter-texts.ts";
import type { Finding, PlanCall } from "./plan.ts";

/** What cannot fit the tool's schema, whatever the references stand for. */
export async function parameterFindings(
  { parameters, tool: name }: PlanCall,
  tool: Pick<ToolSet[string], "inputSchema">,
  texts: readonly ParameterText[],
): Promise<readonly Pick<Finding, "at" | "message">[]> {
  const open = texts.filter(({ needs }) => needs.length > 0);
  const findings: Pick<Finding, "at" | "message">[] = [];
  for (const one of open) {
    if (!isFilledText(one) || takesText(await jsonSchemaOf(tool, name), one.path)) continue;
    const message = "A reference with text around it is a text, which does not fit here.";
    findings.push({ at: one.path.join("."), message });
  }
  const { validate } = asSchema(tool.inputSchema);
  const result = await validate?.(parameters);
  if (result === undefined || result.success) return findings;
  // What a reference stands for is known when it is resolved.
  const places = new Set(open.map(({ path }) => path.join(".")));
  for (const { path, message } of issuesOf(result.error)) {
    const isOpen = path.some((_, depth) => places.has(path.slice(0, depth + 1).join(".")));
    if (!isOpen) findings.push({ at: path.join("."), message });
  }
  return findings;
}

/** False only where the schema asks plainly for something else. */
function takesText(schema: JSONSchema7, path: ParameterText["path"]): boolean {
  let at: Definition = schema;
  for (const key of path) at = schemaAt(key, at, schema);
  return typesIn(at, schema).has("string");
}
