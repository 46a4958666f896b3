import type { CallToolResult } from "@ai-sdk/mcp";
import { fromBase64 } from "../../value/base64.ts";
import { isObject, jsonIn } from "../../value/json.ts";
import type { BytesResult } from "../tool-result.ts";

/**
 * What an MCP tool's result is as a value: `structuredContent`; else its single text, parsed if all of it
 * is JSON; else the bytes of its single image, sound or binary resource, as a `BytesResult`; else the list
 * of its contents, links to resources included. Of no content null. Throws for base64 that is none.
 */
export function valueOfResult(result: CallToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent;
  if (!Array.isArray(result.content)) return result.toolResult ?? null;
  const [only, ...others]: readonly unknown[] = result.content;
  if (only === undefined) return null;
  if (others.length > 0 || !isObject(only)) return result.content;
  if (only.type === "text" && typeof only.text === "string") {
    const said = jsonIn(only.text);
    return said === undefined ? only.text : said;
  }
  return bytesIn(only) ?? result.content;
}

/** The texts of a result, one to a line. */
export function textOfResult({ content }: CallToolResult): string {
  const contents: readonly unknown[] = Array.isArray(content) ? content : [];
  return contents
    .flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}

function bytesIn(content: Readonly<Record<string, unknown>>): BytesResult | undefined {
  const { type, data, mimeType, resource } = content;
  const isMedia = type === "image" || type === "audio";
  if (isMedia && typeof data === "string") return bytesFrom(data, mimeType);
  const isResource = type === "resource" && isObject(resource);
  if (!isResource || typeof resource.blob !== "string") return undefined;
  return bytesFrom(resource.blob, resource.mimeType);
}

function bytesFrom(base64: string, type: unknown): BytesResult {
  const mediaType = typeof type === "string" ? type : "application/octet-stream";
  return { bytes: fromBase64(base64), mediaType };
}
