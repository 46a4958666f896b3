import { asSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7, ToolSet } from "ai";
import { codeOf } from "../../../../src/errors.ts";
import type { Finding } from "./findings.ts";
import { issuesIn } from "./plan-input.ts";
import { json, type Need, needsIn } from "../../../../src/internal.ts";
import { jsonSchemas, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import type { Json, SyntaxName } from "../../../../src/references.ts";

/** Finds parameters that cannot fit the tool's schema, whatever their references resolve to. */
export async function parameterFindings(
  { parameters, tool: name }: PlanCall,
  tool: Pick<ToolSet[string], "inputSchema">,
  texts: readonly ParameterText[],
): Promise<readonly Pick<Finding, "at" | "message">[]> {
  const open = texts.filter(({ needs }) => needs.length > 0);
  const findings: Pick<Finding, "at" | "message">[] = [];
  for (const one of open) {
    if (!isFilledText(one)) continue;
    // A schema that does not clearly require another type takes text.
    const types = jsonSchemas.typesAt(one.path, await toolInputs.jsonSchemaOf(tool, name));
    if (types.has("string")) continue;
    const message =
      "Text around a reference makes it text, which does not fit here. Write the reference alone.";
    findings.push({ at: one.path.join("."), message });
  }
  // The value of a reference is unknown until it is resolved.
  const places = new Set(open.map(({ path }) => path.join(".")));
  const { validate } = asSchema(tool.inputSchema);
  if (validate === undefined) {
    const schema = await toolInputs.jsonSchemaOf(tool, name);
    return [...findings, ...issuesOrNone(schema, parameters, places)];
  }
  const result = await validate(parameters);
  if (result.success) return findings;
  for (const { path, message } of toolInputs.issuesOf(result.error)) {
    const isOpen = path.some((_, depth) => places.has(path.slice(0, depth + 1).join(".")));
    if (!isOpen) findings.push({ at: path.join("."), message });
  }
  return findings;
}

/** Reports nothing if the check takes too long. */
function issuesOrNone(schema: JSONSchema7, value: Json, open: ReadonlySet<string>) {
  try {
    return issuesIn(schema, value, { open });
  } catch (error) {
    if (codeOf(error) !== "limit_exceeded") throw error;
    return [];
  }
}

/** A string in a call's parameters. */
export interface ParameterText {
  /** The keys and indices of its location. */
  readonly path: readonly (string | number)[];
  readonly text: string;
  readonly needs: readonly Need[];
}

/** All strings of a value, in the written order. */
export function parameterTexts(
  value: Json,
  syntaxes: readonly SyntaxName[],
): readonly ParameterText[] {
  const texts: ParameterText[] = [];
  const collect = (inner: Json, path: ParameterText["path"]) => {
    if (typeof inner === "string") {
      const at = path.join(".");
      const needs = needsIn(inner, syntaxes).map((need) => ({ ...need, at }));
      texts.push({ path, text: inner, needs });
    } else if (json.isJsonArray(inner)) {
      for (const [index, one] of inner.entries()) collect(one, [...path, index]);
    } else if (json.isJsonObject(inner)) {
      for (const [key, one] of Object.entries(inner)) collect(one, [...path, key]);
    }
  };
  collect(value, []);
  return texts;
}

/** True if there is text around references. The result is then text, whatever the references resolve to. */
function isFilledText({ text, needs }: ParameterText): boolean {
  return needs.length > 0 && needs.every(({ source }) => source !== text);
}
