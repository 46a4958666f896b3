import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { JSONSchema7, ToolSet } from "ai";
import type { WrittenCall } from "./capability-scanner.ts";
import { coerceParameters, type Parameter, parametersIn } from "./parameters.ts";
import { readTag } from "./xml-tag.ts";
import { jsonSchemaOf } from "../../tool/tool-input.ts";
import { OUTPUT_PATH } from "../../tool/save-target.ts";
import { isJsonObject, jsonIn, type JsonObject } from "../../value/json.ts";

/** A tool as a tag calls it. */
export interface CapabilityTool {
  readonly name: string;
  readonly description: string;
  /** The tool's own, which no reference fits: it tells what a text in an attribute is to become. */
  readonly schema: JSONSchema7;
  readonly parameters: readonly Parameter[];
  /** What a body is: the parameter `content`, or a JSON object with parameters. */
  readonly body: "content" | "json";
  /** Some parameter cannot be an attribute: all are written in the body. */
  readonly needsBody: boolean;
  /** Its result is saved where the call says. */
  readonly takesOutput: boolean;
}

export type CapabilityTools = ReadonlyMap<string, CapabilityTool>;

/** What a tag has attributes of its own for, and what no attribute can be called. */
const RESERVED = new Set(["name", "output_var"]);
const ATTRIBUTE = /^[A-Za-z_][\w.-]*$/;

export function isAttribute(name: string): boolean {
  return ATTRIBUTE.test(name) && !RESERVED.has(name);
}

/** Those of a call's tools that run here; `plain` are the same as they were given. */
export async function capabilityTools(
  given: LanguageModelV4CallOptions["tools"] = [],
  plain: ToolSet,
): Promise<CapabilityTools> {
  const tools = new Map<string, CapabilityTool>();
  for (const tool of given) {
    if (tool.type !== "function") continue;
    const { name, description = "", inputSchema: shown } = tool;
    const original = Object.hasOwn(plain, name) ? plain[name] : undefined;
    const schema = original === undefined ? shown : await jsonSchemaOf(original, name);
    const parameters = parametersIn(schema);
    const has = (wanted: string) => parameters.some((parameter) => parameter.name === wanted);
    const needsBody = parameters.some((parameter) => !isAttribute(parameter.name));
    tools.set(name, {
      name,
      description,
      schema,
      parameters,
      body: has("content") && !needsBody ? "content" : "json",
      needsBody,
      takesOutput: Object.hasOwn(shown.properties ?? {}, OUTPUT_PATH) && !has(OUTPUT_PATH),
    });
  }
  return tools;
}

interface ReadCall {
  readonly toolName: string;
  readonly input: JsonObject;
}

/** A tag as the call of a tool; one that nobody knows is called as it is written. */
export function callIn(written: WrittenCall, tools: CapabilityTools): ReadCall {
  const { call } = written;
  const { tool, parameters } = toolFor(written, tools);
  if (tool === undefined) return { toolName: call.tool, input: parameters };
  const { takesOutput, name: toolName, schema } = tool;
  const input = coerceParameters(withBody(parameters, tool), schema);
  const isSaved = takesOutput && call.outputVariable !== undefined;
  const saved = isSaved ? { [OUTPUT_PATH]: `variable:${call.outputVariable}` } : {};
  return { toolName, input: { ...input, ...saved } };
}

/** `name_action`; or `name`, and the action is a parameter. */
function toolFor(
  { call, source }: WrittenCall,
  tools: CapabilityTools,
): { readonly tool: CapabilityTool | undefined; readonly parameters: JsonObject } {
  const { parameters } = call;
  const known = tools.get(call.tool);
  if (known !== undefined) return { tool: known, parameters };
  const attributes = readTag(source).tag?.attributes;
  const action = attributes?.get("action");
  const tool = action === undefined ? undefined : tools.get(attributes?.get("name") ?? "");
  return tool === undefined || action === undefined
    ? { tool: undefined, parameters }
    : { tool, parameters: { ...parameters, action } };
}

/** What a JSON body holds are parameters like those of the attributes. */
function withBody(parameters: JsonObject, { body }: CapabilityTool): JsonObject {
  const { content, ...attributes } = parameters;
  if (body === "content" || typeof content !== "string") return parameters;
  const inside = jsonIn(content);
  return inside !== undefined && isJsonObject(inside) ? { ...attributes, ...inside } : parameters;
}
