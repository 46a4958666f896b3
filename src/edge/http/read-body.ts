import type { Context } from "hono";
import { ByrefError, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { requireJson } from "../../value/require-json.ts";
import { parsedJson, type Json } from "../../value/json.ts";
import type { AppEnv } from "../app.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import { type Holding, LastMessage } from "./last-message.ts";
import { requireMessageSize } from "./message-size.ts";

type Posted = Context<AppEnv>;

/** The body as JSON. Throws `unsupported_media_type`, `bad_json` or `limit_exceeded`. */
export async function readJson(context: Posted): Promise<Json> {
  requireJsonType(context.req.raw);
  return parseJson(await readText(context));
}

/** The same for what `useChat` sends: of its messages the last alone. */
export async function readChat(context: Posted): Promise<Json> {
  requireJsonType(context.req.raw);
  return parseJson(await readText(context, new LastMessage(limits.maxMessageBytes)));
}

/** Throws `limit_exceeded` where more would have to be held than one message may be. */
export async function readText(
  { var: { body } }: Posted,
  held: Holding = new ByteBuffer(limits.maxMessageBytes),
): Promise<string> {
  for await (const bytes of body.pieces()) held.add(bytes);
  requireMessageSize(held.size);
  return held.text();
}

/** Throws `unsupported_media_type`. */
export function requireJsonType(request: Request): void {
  const type = mediaTypeOf(request);
  if (type === "application/json") return;
  const message = `The body's content type is ${type || "missing"}; send application/json.`;
  throw new ByrefError("unsupported_media_type", message);
}

/** Throws `bad_json`, `limit_exceeded` (too deep) or `bad_value` (a number that no number can hold). */
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

/** The content type without its parameters, in lower case; empty if there is none. */
export function mediaTypeOf(request: Request): string {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase();
}
