import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { JSONSchema7, ToolSet } from "ai";
import type { CapabilityCall } from "./capability-scanner.ts";
import {
  exactNumbers,
  json,
  characters,
  inTexts,
  type Syntaxes,
  writerIn,
} from "../../../../src/internal.ts";
import {
  jsonSchemas,
  saveTargets,
  shownSchemas,
  toolInputs,
  joinedTexts,
} from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { BODY } from "../../../plans/src/plan/plan-format.ts";
import * as limits from "../../../../src/limits.ts";

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

function isAttribute(name: string): boolean {
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

interface Parameter {
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

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type Assistant = Extract<LanguageModelV4Message, { role: "assistant" }>;
type ToolMessage = Extract<LanguageModelV4Message, { role: "tool" }>;

/**
 * Converts a prompt for a model without tool calls. Calls become tags, results become a user message, and
 * consecutive messages of one side are joined.
 */
export function taggedPrompt(
  prompt: LanguageModelV4Prompt,
  tools: CapabilityTools,
  guide: string | undefined,
): LanguageModelV4Prompt {
  const messages: LanguageModelV4Message[] = [];
  // The position of each call within its answer. A result refers to its call by it.
  const numbers = new Map<string, number>();
  for (const message of withGuide(prompt, guide)) {
    if (message.role === "assistant") messages.push(withTags(message, tools, numbers));
    else if (message.role !== "tool") add(messages, message);
    else for (const one of resultMessages(message, numbers)) add(messages, one);
  }
  return messages;
}

function withGuide(prompt: LanguageModelV4Prompt, guide?: string): LanguageModelV4Prompt {
  if (guide === undefined) return prompt;
  const [first, ...rest] = prompt;
  return first?.role === "system"
    ? [{ ...first, content: `${first.content}\n\n${guide}` }, ...rest]
    : [{ role: "system", content: guide }, ...prompt];
}

function add(messages: LanguageModelV4Message[], message: LanguageModelV4Message): void {
  const last = messages.at(-1);
  const isSame = last?.role === "user" && message.role === "user";
  if (!isSame || last.providerOptions !== undefined || message.providerOptions !== undefined) {
    messages.push(message);
    return;
  }
  const content = joinedTexts([...last.content, ...message.content], () => "\n\n");
  messages[messages.length - 1] = { role: "user", content };
}

function withTags(
  message: Assistant,
  tools: CapabilityTools,
  numbers: Map<string, number>,
): Assistant {
  let count = 0;
  const content = message.content.map((part): Assistant["content"][number] => {
    if (part.type !== "tool-call" || part.providerExecuted === true) return part;
    numbers.set(part.toolCallId, ++count);
    return { type: "text", text: tagFor(part, tools.get(part.toolName)) };
  });
  const between = (before: string, after: string) =>
    /\s$/.test(before) || /^\s/.test(after) ? "" : "\n";
  return { ...message, content: joinedTexts(content, count === 0 ? () => "" : between) };
}

/** The results of tools that ran here, then all other parts that the provider needs. */
function resultMessages(
  message: ToolMessage,
  numbers: ReadonlyMap<string, number>,
): readonly LanguageModelV4Message[] {
  const isOurs = (part: ToolMessage["content"][number]) =>
    part.type === "tool-result" && numbers.has(part.toolCallId);
  const others = message.content.filter((part) => !isOurs(part));
  const results = message.content.flatMap((part) =>
    part.type === "tool-result" && isOurs(part) ? resultParts(part, numbers) : [],
  );
  return [
    ...(others.length === 0 ? [] : [{ ...message, content: others }]),
    ...(results.length === 0
      ? []
      : [{ role: "user" as const, content: joinedTexts(results, () => "\n") }]),
  ];
}

function resultParts(
  { toolCallId, toolName, output }: LanguageModelV4ToolResultPart,
  numbers: ReadonlyMap<string, number>,
): readonly UserPart[] {
  const { text, files, isError } = saidIn(output);
  const about = `call="${numbers.get(toolCallId)}" name="${attributeText(toolName)}"`;
  const start = `<capability-result ${about}${isError ? ' error="true"' : ""}>`;
  // The content cannot end the result's tag. In JSON, the escaped text is equivalent.
  const inside = text.replaceAll(/<\/(?=\s*capability-result)/gi, "<\\/");
  return [{ type: "text", text: `${start}${inside}</capability-result>` }, ...files];
}

function saidIn(output: LanguageModelV4ToolResultPart["output"]) {
  switch (output.type) {
    case "text":
    case "error-text":
    case "json":
    case "error-json":
      return { text: textOf(output.value), files: [], isError: output.type.startsWith("error") };
    case "execution-denied":
      return { text: output.reason ?? "The call was not allowed.", files: [], isError: true };
    case "content": {
      const texts = output.value.flatMap((part) => (part.type === "text" ? part.text : []));
      const files = output.value.flatMap((part) => (part.type === "file" ? part : []));
      return { text: texts.join("\n"), files, isError: false };
    }
  }
}

function tagFor(
  { toolName, input }: LanguageModelV4ToolCallPart,
  tool: CapabilityTool | undefined,
): string {
  const { [saveTargets.OUTPUT_PATH]: place, ...given } = json.isObject(input) ? input : {};
  const output = /^(?:variable:|\$)(\w+)$/.exec(String(place))?.[1];
  const needsBody = tool?.needsBody ?? !Object.keys(given).every(isAttribute);
  const { content, ...others } = given;
  const hasContent = !needsBody && tool?.body !== "json" && content !== undefined;
  const attributes = needsBody ? {} : hasContent ? others : given;
  const written = [["name", toolName], ...Object.entries(attributes), ["output_var", output]]
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${String(key)}="${attributeText(textOf(value))}"`);
  const start = `<capability ${written.join(" ")}`;
  if (needsBody) return `${start}>${bodyText(JSON.stringify(given))}</capability>`;
  return hasContent ? `${start}>${bodyText(textOf(content))}</capability>` : `${start} />`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function attributeText(value: string): string {
  return bodyText(value).replaceAll('"', "&quot;").replaceAll("\n", "&#10;");
}

function bodyText(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Explains tool calls with tags to a model without native calls. */
const guideWith = (
  references: string,
) => `You call tools with tags in your answer. The person does not see them. Then end your answer: the results come in the next message, as <capability-result>. Never write a result yourself.
<capability name="tool" parameter="value" output_var="name">content</capability>
Values and bodies are XML: write & as &amp;, < as &lt;, " as &quot;, or a body as <![CDATA[…]]>. Arrays and objects are JSON. output_var saves the result as that variable; it may be left out, as may all parameters with ?. ${references}Inside code blocks tags call nothing.
The tools:`;

/** The tools as text for the system prompt. Undefined if there are none. */
export function capabilityGuide(tools: CapabilityTools, syntaxes: Syntaxes): string | undefined {
  if (tools.size === 0) return undefined;
  const known = inTexts.filter((one) => syntaxes.includes(one));
  const names = known.map((one) => writerIn([one])?.("name")).join(" or ");
  const guide = guideWith(names === "" ? "" : `${names} hands a variable on. `);
  return [guide, ...Array.from(tools.values(), aboutTool)].join("\n\n");
}

function aboutTool(tool: CapabilityTool): string {
  const { description, parameters } = tool;
  const lines = parameters.map((parameter) => aboutParameter(parameter, tool));
  return [sampleOf(tool), ...(description === "" ? [] : [description]), ...lines].join("\n");
}

function sampleOf({ name, parameters, body, needsBody, takesOutput }: CapabilityTool): string {
  const names = parameters.map((parameter) => parameter.name);
  const attributes = needsBody ? [] : names.filter((one) => body === "json" || one !== "content");
  const written = [
    `name="${name}"`,
    ...attributes.map((one) => `${one}="…"`),
    ...(takesOutput ? ['output_var="…"'] : []),
  ];
  const start = `<capability ${written.join(" ")}`;
  if (needsBody) return `${start}>{${names.map((one) => `"${one}": …`).join(", ")}}</capability>`;
  return body === "content" ? `${start}>…</capability>` : `${start} />`;
}

function aboutParameter(
  { name, schema: own, isRequired }: Parameter,
  { schema }: CapabilityTool,
): string {
  const first = (texts: readonly (string | undefined)[]) =>
    texts.find((text) => text !== undefined);
  const description = jsonSchemas.foldSchema<string | undefined>(own, schema, {
    own: (part) => (typeof part === "object" ? part.description : undefined),
    all: first,
    any: first,
  });
  const about = description === undefined ? "" : ` // ${description}`;
  return `- ${name}${isRequired ? "" : "?"}: ${schemaText(own, schema)}${about}`;
}

const MAX_DEPTH = 4;
/** Maximum schemas written. A server's schemas may refer to one another in any way. */
const MAX_WRITTEN = 100;

/** Describes the values of a schema in one short line, as a type: `{city: string, days?: number}[]`. */
function schemaText(definition: jsonSchemas.Definition, root: JSONSchema7): string {
  let left = MAX_WRITTEN;
  const textOf = (one: jsonSchemas.Definition, depth: number): string =>
    jsonSchemas.foldSchema<string>(one, root, {
      own: (schema) => {
        if (left-- <= 0) return "…";
        if (typeof schema === "boolean" || depth > MAX_DEPTH) return ANY;
        return ownText(schema, (part) => textOf(part, depth + 1));
      },
      all: (texts) => texts.find((text) => text !== ANY) ?? ANY,
      any: (texts) => oneOf(texts),
    });
  const text = textOf(definition, 0);
  const shown = characters.clip(text, limits.maxShapeChars);
  return shown === text ? text : `${shown}…`;
}

const ANY = "any";

function ownText(schema: JSONSchema7, inner: (part: jsonSchemas.Definition) => string): string {
  const { type, enum: values, const: value } = schema;
  const options: readonly unknown[] | undefined = value === undefined ? values : [value];
  if (options !== undefined) return oneOf(options.map((one) => JSON.stringify(one)));
  return type === undefined
    ? ANY
    : oneOf([type].flat().map((name) => typeText(name, schema, inner)));
}

function oneOf(texts: readonly string[]): string {
  return [...new Set(texts.slice(0, MAX_WRITTEN))].join(" | ");
}

function typeText(
  name: string,
  { items = true, properties = {}, required = [], additionalProperties: others }: JSONSchema7,
  inner: (part: jsonSchemas.Definition) => string,
): string {
  if (name === "array") {
    const element = Array.isArray(items) ? ANY : inner(items);
    return element.includes(" | ") && !element.startsWith("{") ? `(${element})[]` : `${element}[]`;
  }
  if (name !== "object") return name;
  const fields = Object.entries(properties)
    .slice(0, MAX_WRITTEN)
    .map(([key, one]) => `${key}${required.includes(key) ? "" : "?"}: ${inner(one)}`);
  if (typeof others === "object") fields.push(`…: ${inner(others)}`);
  return fields.length === 0 ? "object" : `{${fields.join(", ")}}`;
}
