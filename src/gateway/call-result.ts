import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import * as limits from "./gateway-limits.ts";
import type { VariableInfo } from "../store/variable.ts";
import { outputJson, type ToolOutput } from "../tool/tool-output.ts";
import { textOfResult } from "../tool/mcp/result-value.ts";
import { isObject, type Json } from "../value/json.ts";
import { isOwn } from "./offered-resources.ts";

/** The key of a result's `_meta` with the variable that has its value: `{name, version}`. */
const VARIABLE_META = "byref/variable";

/** Response to a call whose result was saved. */
export interface SavedResult {
  /** The result as returned by the server. Undefined for a large result of a tool in this process. */
  readonly received: CallToolResult | undefined;
  readonly output: ToolOutput;
  readonly info: VariableInfo | undefined;
  /** Results of up to this many characters are passed on unchanged. */
  readonly inlineChars: number;
}

/**
 * Returns a small result as the server gave it, with the variable's name in `_meta`; of a large or guarded one
 * the handle and a link to the variable.
 */
export function clientResult({ received, output, info, inlineChars }: SavedResult): CallToolResult {
  const isGuarded = "visibility" in output;
  const isSmall = received !== undefined && charsOfResult(received) <= inlineChars;
  if (isSmall && !isGuarded && info !== undefined) {
    return {
      ...received,
      content: [...withoutViews(received).content, ...notesIn(output)],
      _meta: { ...received._meta, ...metaOf(info) },
    };
  }
  const images = isGuarded ? [] : (received?.content ?? []).filter(isSmallImage);
  const { content, ...rest } = handleResult(output, info);
  return { ...rest, content: [...content, ...images] };
}

/** Returns what a tool of this process would answer as a server, if its value is small. */
export function answerOf(output: ToolOutput): CallToolResult | undefined {
  if (!("value" in output)) return undefined;
  const { value } = output;
  return { content: [textBlock(typeof value === "string" ? value : JSON.stringify(value))] };
}

/** Returns the result of one of the gateway's own tools, which may be a variable. */
export function ownResult(output: Json, info: VariableInfo | undefined): CallToolResult {
  if (info === undefined) return { content: [textBlock(JSON.stringify(output))] };
  // A result with a variable is one of these.
  return handleResult(output as unknown as ToolOutput, info);
}

function handleResult(output: ToolOutput, info: VariableInfo | undefined): CallToolResult {
  const text = textBlock(handleText(output));
  if (info === undefined) return { content: [text] };
  const link = "value" in output ? [] : [linkTo(info, "visibility" in output)];
  return { content: [text, ...link], _meta: metaOf(info) };
}

function metaOf({ name, version }: VariableInfo) {
  return { [VARIABLE_META]: { name, version } };
}

/** Returns a server's failure without the name of a variable, which only results that were kept have. */
export function withoutVariable(result: CallToolResult): CallToolResult {
  if (result._meta?.[VARIABLE_META] === undefined) return result;
  const { [VARIABLE_META]: _variable, ...meta } = result._meta;
  return { ...result, _meta: meta };
}

/** Returns a result without the views that some clients show: they could use everything behind the gateway. */
export function withoutViews(result: CallToolResult): CallToolResult {
  return { ...result, content: result.content.filter((part) => !isView(part)) };
}

/** Returns a failure as data for the model. */
export function failedResult(code: string, message: string): CallToolResult {
  return { isError: true, content: [textBlock(`${code}: ${message}`)] };
}

/** Characters of all contents together, or of the structured content, whichever are more. */
function charsOfResult(result: CallToolResult): number {
  const { structuredContent } = result;
  const structured = structuredContent === undefined ? 0 : JSON.stringify(structuredContent).length;
  return Math.max(structured, contentChars(result));
}

/** Characters of what a model is shown of a result. */
export function contentChars({ content }: CallToolResult): number {
  return content.reduce((sum, part) => sum + charsOf(part), 0);
}

function charsOf(part: ContentBlock): number {
  return part.type === "text" ? part.text.length : JSON.stringify(part).length;
}

function handleText(output: ToolOutput): string {
  const text = JSON.stringify(outputJson(output));
  if (!("$var" in output) || "value" in output) return text;
  return `${text}\nKept as $${output.$var}: write "$${output.$var}" or "$${output.$var}.path" as an argument of any tool, and it is replaced by the value.`;
}

/** Reports only names that resemble existing ones, not `$HOME` or prices. */
function notesIn(output: ToolOutput): readonly ContentBlock[] {
  const unresolved = "unresolved" in output ? (output.unresolved ?? []) : [];
  return unresolved
    .filter(({ near = [] }) => near.length > 0)
    .map(({ reference, near = [] }) => {
      const names = near.map((name) => `$${name}`).join(", ");
      return textBlock(
        `${reference} is not a variable and was passed as it is. There is ${names}.`,
      );
    });
}

function linkTo({ name, mediaType, bytes, shape }: VariableInfo, isGuarded: boolean): ContentBlock {
  const details = isGuarded ? {} : { size: bytes, description: shape };
  return { type: "resource_link", uri: uriOf(name), name, mimeType: mediaType, ...details };
}

/** Start of the URIs of variables. */
export const VARIABLES = "byref://variables/";

/** The address of a variable as a resource. */
export function uriOf(name: string): string {
  return VARIABLES + encodeURIComponent(name);
}

function isView(part: ContentBlock): boolean {
  return part.type === "resource" && isOwn(part.resource.uri);
}

function isSmallImage(part: unknown): boolean {
  if (!isObject(part) || part.type !== "image" || typeof part.data !== "string") return false;
  const { data } = part;
  const padding = data.endsWith("==") ? 2 : Number(data.endsWith("="));
  return (data.length * 3) / 4 - padding <= limits.maxInlineImageBytes;
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

/** Returns a server's message about a failed call. */
export function textOfFailure(result: CallToolResult): string {
  const text = textOfResult(result);
  return text === "" ? "The tool failed and did not say why." : text;
}
