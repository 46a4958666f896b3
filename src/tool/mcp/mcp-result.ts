import type { CallToolResult } from "@ai-sdk/mcp";
import { isObject } from "../../value/json.ts";
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
  if (only.type === "text" && typeof only.text === "string") return parsed(only.text);
  return bytesIn(only) ?? result.content;
}

/** The texts of a result, one to a line. */
export function textOfResult({ content }: CallToolResult): string {
  const contents: readonly unknown[] = Array.isArray(content) ? content : [];
  return contents
    .flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
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
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return { bytes, mediaType: typeof type === "string" ? type : "application/octet-stream" };
}
