import { ByrefError, messageOf } from "../errors.ts";
import { requireJson } from "../value/require-json.ts";
import type { Json } from "../value/json.ts";

/** The body as JSON. Throws `unsupported_media_type` or `bad_json`. */
export async function readJson(request: Request): Promise<Json> {
  const type = mediaTypeOf(request);
  if (type !== "application/json") {
    const message = `The body's content type is ${type || "missing"}; send application/json.`;
    throw new ByrefError("unsupported_media_type", message);
  }
  return parseJson(await request.text());
}

/** Throws `bad_json`, `limit_exceeded` (too deep) or `bad_value` (a number that no number can hold). */
export function parseJson(text: string): Json {
  const value = parsed(text);
  requireJson(value);
  return value;
}

function parsed(text: string): Json {
  try {
    // What JSON.parse returns is Json by definition.
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new ByrefError("bad_json", `The body is not JSON: ${messageOf(error)}`);
  }
}

/** The content type without its parameters, in lower case; empty if there is none. */
export function mediaTypeOf(request: Request): string {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase();
}
