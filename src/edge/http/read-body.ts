import type { Context } from "hono";
import { ByrefError, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { requireJson } from "../../value/require-json.ts";
import { clip } from "../../value/characters.ts";
import { parsedJson, type Json } from "../../value/json.ts";
import { type MediaType, parseMediaType } from "../../value/media-type.ts";
import type { AppEnv } from "../app-env.ts";
import { ByteBuffer } from "../../value/byte-buffer.ts";
import { type BodyBuffer, LastMessage } from "./last-message.ts";
import { requireMessageSize } from "./message-size.ts";

type Posted = Context<AppEnv>;

/** The body that `useChat` sends, with only the last of its messages. */
export function readChat(context: Posted): Promise<string> {
  return readText(context, new LastMessage(limits.maxMessageBytes));
}

/** Reads a body as text. Throws `limit_exceeded` if it is longer than a message may be. */
export async function readText(
  { var: { body } }: Posted,
  held: BodyBuffer = new ByteBuffer(limits.maxMessageBytes),
): Promise<string> {
  for await (const bytes of body.pieces()) held.add(bytes);
  requireMessageSize(held.size);
  return held.text();
}

/** Throws `unsupported_media_type`. */
export function requireJsonType(request: Request): void {
  if (mediaTypeOf(request)?.essence === "application/json") return;
  throw unsupportedType(request, "send application/json.");
}

/** Undefined if the content type is missing or malformed. */
export function mediaTypeOf({ headers }: Request): MediaType | undefined {
  return parseMediaType(headers.get("content-type") ?? "");
}

export function unsupportedType({ headers }: Request, advice: string): ByrefError {
  const type = headers.get("content-type") || "missing";
  const message = `The body's content type is ${clip(type, limits.maxMediaTypeChars)}; ${advice}`;
  return new ByrefError("unsupported_media_type", message);
}

/** Throws `bad_json`, `limit_exceeded` (too deep) or `bad_value` (a number out of range). */
export function parseJson(text: string): Json {
  const value = parsed(text);
  requireJson(value);
  return value;
}

function parsed(text: string): Json {
  try {
    return parsedJson(text);
  } catch (error) {
    throw new ByrefError("bad_json", `The body is not JSON: ${messageOf(error)}`);
  }
}
