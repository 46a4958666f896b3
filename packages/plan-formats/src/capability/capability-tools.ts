import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { JSONSchema7, ToolSet } from "ai";
import type { CapabilityCall } from "./capability-scanner.ts";
import { exactNumbers, json } from "../../../../src/internal.ts";
import {
  jsonSchemas,
  saveTargets,
  shownSchemas,
  toolInputs,
} from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { BODY } from "../../../plans/src/plan/plan-format.ts";

/** A tool in the form that tags call. */
export interface CapabilityTool {
  readonly name: string;
  readonly description: string;
  /** The tool's own schema, without references. It defines the type of a parameter written as text. */
  readonly schema: JSONSchema7;
  readonly parameters: readonly Parameter[];
  /** The meaning of a body: the parameter `content`, or a JSON object with parameters. */
  readonly body: "content" | "json";
  /** True if a parameter cannot be an attribute. All parameters are then written in the body. */
  readonly needsBody: boolean;
  /** True if the call contains the place of its result. */
  readonly takesOutput: boolean;
}

export type CapabilityTools = ReadonlyMap<string, CapabilityTool>;

/** Attributes with a meaning of their own. Parameters cannot have these names. */
const RESERVED = new Set(["name", "output_var"]);
const ATTRIBUTE = /^[A-Za-z_][\w.-]*$/;

export function isAttribute(name: string): boolean {
  return ATTRIBUTE.test(name) && !RESERVED.has(name);
}

/** The tools of a model call that run here. `plain` has them unwrapped. */
export async function capabilityTools(
  given: LanguageModelV4CallOptions["tools"] = [],
  plain: ToolSet,
): Promise<CapabilityTools> {
  const tools = new Map<string, CapabilityTool>();
  for (const tool of given) {
    if (tool.type !== "function") continue;
    const { name, description, inputSchema: shown } = tool;
    const original = Object.hasOwn(plain, name) ? plain[name] : undefined;
    const schema = original === undefined ? shown : await toolInputs.jsonSchemaOf(original, name);
    tools.set(name, toolWith(name, schema, { description, shown }));
  }
  return tools;
}

/** `shown`: the schema that its caller sees, which may add the place of the result. */
export function toolWith(
  name: string,
  schema: JSONSchema7,
  {
    description = "",
    shown = schema,
  }: { readonly description?: string | undefined; readonly shown?: JSONSchema7 } = {},
): CapabilityTool {
  const parameters = parametersIn(schema);
  const has = (wanted: string) => parameters.some((parameter) => parameter.name === wanted);
  const needsBody = parameters.some((parameter) => !isAttribute(parameter.name));
  const { OUTPUT_PATH } = saveTargets;
  return {
    name,
    description,
    schema,
    parameters,
    body: has("content") && !needsBody ? "content" : "json",
    needsBody,
    takesOutput: Object.hasOwn(shown.properties ?? {}, OUTPUT_PATH) && !has(OUTPUT_PATH),
  };
}

type Written = Pick<CapabilityCall, "tool" | "name" | "action" | "parameters" | "outputVariable">;

/**
 * Reads a tag as a tool call. `web` with the action `generate` is the tool `web_generate`, or else `web`, which receives
 * the `action` if it has such a parameter. The call of an unknown tool keeps its name as written.
 */
export function callIn(call: Written, tools: CapabilityTools) {
  const { name, action, outputVariable } = call;
  const tool = tools.get(call.tool) ?? tools.get(name);
  if (tool === undefined) return { toolName: call.tool, input: call.parameters };
  const { takesOutput, name: toolName, schema } = tool;
  const takesAction =
    action !== undefined &&
    toolName !== call.tool &&
    tool.parameters.some((parameter) => parameter.name === "action");
  const parameters = takesAction ? { action, ...call.parameters } : call.parameters;
  const input = coerceParameters(withBody(parameters, tool), schema);
  const isSaved = takesOutput && outputVariable !== undefined;
  const saved = isSaved ? { [saveTargets.OUTPUT_PATH]: `variable:${outputVariable}` } : {};
  return { toolName, input: { ...input, ...saved } };
}

function withBody(parameters: json.JsonObject, { body, schema }: CapabilityTool): json.JsonObject {
  const { content, ...attributes } = parameters;
  if (body === "content" || typeof content !== "string") return parameters;
  const inside = json.jsonIn(content);
  if (inside !== undefined && json.isJsonObject(inside)) return { ...attributes, ...inside };
  const declared = shownSchemas.declaredIn(schema);
  return declared === undefined || declared.size === 0
    ? parameters
    : { ...attributes, [BODY]: content };
}

export interface Parameter {
  readonly name: string;
  readonly schema: jsonSchemas.Definition;
  readonly isRequired: boolean;
}

interface Named {
  readonly names: readonly string[];
  readonly required: readonly string[];
}

/** The parameters that a schema declares, including those of its alternatives. */
function parametersIn(schema: JSONSchema7): readonly Parameter[] {
  const { names, required } = jsonSchemas.foldSchema<Named>(schema, schema, {
    own: (one) => {
      const { properties = {}, required = [] } = typeof one === "boolean" ? {} : one;
      return { names: Object.keys(properties), required };
    },
    all: (parts) => ({
      names: parts.flatMap((part) => part.names),
      required: parts.flatMap((part) => part.required),
    }),
    // A parameter that one alternative requires may be absent from another.
    any: (parts) => ({ names: parts.flatMap((part) => part.names), required: [] }),
  });
  return Array.from(new Set(names), (name) => ({
    name,
    schema: jsonSchemas.schemaAt(name, schema, schema),
    isRequired: required.includes(name),
  }));
}

/**
 * Converts text parameters to the types in the tool's schema. A text is parsed if it is valid JSON of such a
 * type. A text stays text if the schema accepts strings, or if it does not parse. References stay text too,
 * because their values already have a type.
 */
export function coerceParameters(
  parameters: json.JsonObject,
  schema: JSONSchema7,
): json.JsonObject {
  const coerced = Object.entries(parameters).map(([name, value]): [string, Json] => {
    if (typeof value !== "string") return [name, value];
    const types = jsonSchemas.typesAt([name], schema);
    return [name, types.has("string") ? value : readAs(value, types)];
  });
  return Object.fromEntries(coerced);
}

function readAs(text: string, types: ReadonlySet<jsonSchemas.TypeName>): Json {
  const value = json.jsonIn(text);
  if (value === undefined) return text;
  const type = json.typeOfJson(value);
  const isInteger = types.has("integer") && exactNumbers.isWhole(value);
  return types.has(type) || isInteger ? value : text;
}
