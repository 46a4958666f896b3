import type { BytesResult } from "../../../../src/internal-tool.ts";
import { encoding, json, contents } from "../../../../src/internal.ts";

/** The fields of an MCP server's result that are read here. */
export interface ServerResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  /** From servers of before 2024-11-05. */
  readonly toolResult?: unknown;
}

/**
 * Returns an MCP tool's result as a value: `structuredContent`, unless that is empty beside contents; a single text, as
 * `Content` if all of it is JSON; the bytes of a single image, audio or binary resource, as a `BytesResult`; else the
 * list of its contents, links to resources included; null without content. Throws for invalid base64.
 */
export function valueOfResult({ structuredContent, content, toolResult }: ServerResult): unknown {
  const [only, ...others]: readonly unknown[] = Array.isArray(content) ? content : [];
  const isEmpty = json.isObject(structuredContent) && Object.keys(structuredContent).length === 0;
  const hasOther = only !== undefined && (isEmpty || (structuredContent ?? null) === null);
  if (!hasOther) return structuredContent ?? toolResult ?? null;
  if (others.length > 0 || !json.isObject(only)) return content;
  if (only.type === "text" && typeof only.text === "string") return valueOfText(only.text);
  return bytesIn(only) ?? content;
}

/** JSON keeps its text. What breaks a limit for JSON is a text. */
function valueOfText(text: string): contents.Content | string {
  const parsed = json.jsonIn(text);
  if (parsed === undefined) return text;
  if (typeof parsed === "string") return parsed;
  try {
    return contents.jsonContent(parsed, text);
  } catch {
    return text;
  }
}

/** Joins the texts of a result by line breaks. */
export function textOfResult({ content }: ServerResult): string {
  const contents: readonly unknown[] = Array.isArray(content) ? content : [];
  return contents
    .flatMap((part) => (json.isObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}

function bytesIn(content: Readonly<Record<string, unknown>>): BytesResult | undefined {
  const { type, data, mimeType, resource } = content;
  const isMedia = type === "image" || type === "audio";
  if (isMedia && typeof data === "string") return bytesFrom(data, mimeType);
  const isResource = type === "resource" && json.isObject(resource);
  if (!isResource || typeof resource.blob !== "string") return undefined;
  return bytesFrom(resource.blob, resource.mimeType);
}

function bytesFrom(base64: string, type: unknown): BytesResult {
  const mediaType = typeof type === "string" ? type : "application/octet-stream";
  return { bytes: encoding.fromBase64(base64), mediaType };
}
