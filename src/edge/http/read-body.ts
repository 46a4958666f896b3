import * as ascii from "../../value/ascii.ts";
import type { Context } from "hono";
import { ByrefError, messageOf, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { requireFewContainers, requireJson } from "../../value/require-json.ts";
import { clip } from "../../value/characters.ts";
import { type Json, parsedJson } from "../../value/json.ts";
import { type MediaType, parseMediaType } from "../../value/media-type.ts";
import type { AppEnv } from "../app-env.ts";
import { ByteBuffer } from "../../value/byte-buffer.ts";
import { byteLength } from "../../value/encoding.ts";

/** Reads a body as text. Throws `limit_exceeded` if it is longer than a message may be. */
export async function readText(
  { var: { body } }: Context<AppEnv>,
  held = new ByteBuffer(limits.maxMessageBytes),
): Promise<string> {
  for await (const bytes of body.pieces()) held.add(bytes);
  requireMessageSize(held.size);
  return held.takeText().replace(/^\uFEFF/u, "");
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
  const message = `The body's content type is ${clip(type, limits.maxIdChars)}; ${advice}`;
  return new ByrefError("unsupported_media_type", message);
}

/** Throws `bad_json`, `limit_exceeded` (too deep) or `bad_value` (a number out of range). */
export function parseJson(text: string): Json {
  requireFewContainers(text);
  let value: Json;
  try {
    value = parsedJson(text);
  } catch (error) {
    throw new ByrefError("bad_json", `The body is not JSON: ${messageOf(error)}`);
  }
  requireJson(value);
  return value;
}

/** Returns the argument. Throws `limit_exceeded` if its JSON is longer than a message may be. */
export function bounded<Body extends object>(body: Body): Body {
  requireMessageSize(byteLength(JSON.stringify(body)));
  return body;
}

/** Throws `limit_exceeded` if there are more bytes than one message may have. */
function requireMessageSize(actual: number): void {
  const advice = "Put long data into a variable.";
  requireAtMost("maxMessageBytes", actual, advice);
}

const MESSAGES = "messages";

/**
 * Buffers the body of `useChat` without its history: only the last element of the array `messages`. Earlier
 * elements are dropped as they are received, because together they may exceed the size limit of a request.
 * The remaining text may still be invalid JSON, which the parser detects.
 */
export class LastMessage extends ByteBuffer {
  /** The start of the current element of `messages` in the buffer, while inside that array. */
  #elementAt: number | undefined;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The newest string of the outermost object, cut to the length of a possible key; and the last key. */
  #string = "";
  #key = "";

  override add(bytes: Uint8Array): void {
    let from = 0;
    const hold = (to: number) => {
      super.add(bytes.subarray(from, to));
      from = to;
    };
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#isInString) this.#readString(byte);
      else if (byte === ascii.QUOTE) this.#beginString();
      else if (byte === ascii.COMMA && this.#depth === 2 && this.#elementAt !== undefined) {
        this.cut(this.#elementAt);
        from = at + 1;
      } else if (byte === ascii.COLON && this.#depth === 1) this.#key = this.#string;
      else if (byte === ascii.OPEN_BRACKET || byte === ascii.OPEN_BRACE) {
        this.#depth++;
        if (byte === ascii.OPEN_BRACE || this.#depth !== 2 || this.#key !== MESSAGES) continue;
        hold(at + 1);
        this.#elementAt = this.size;
      } else if (byte === ascii.CLOSE_BRACKET || byte === ascii.CLOSE_BRACE) {
        if (this.#depth === 2) this.#elementAt = undefined;
        this.#depth--;
      }
    }
    hold(bytes.length);
  }

  #beginString(): void {
    this.#isInString = true;
    if (this.#depth === 1) this.#string = "";
  }

  #readString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === ascii.BACKSLASH) this.#isEscaped = true;
    else if (byte === ascii.QUOTE) this.#isInString = false;
    else if (this.#depth === 1 && this.#string.length <= MESSAGES.length) {
      this.#string += String.fromCharCode(byte);
    }
  }
}
