import { isScalar, type Json, type JsonArray, type JsonObject } from "../value/json.ts";
import { isTable, renderBlock, renderInline } from "../value/render.ts";
import { inertText } from "./inert-text.ts";
import type { Found } from "./lookup.ts";
import type { ReferencePiece } from "./scanner.ts";
import { UrlTracker } from "./url-tracker.ts";

/**
 * Prints the value of a reference. Returns undefined if a renderer may read several of its strings as one tag or
 * URL, whatever is between them, unless references resolve `inUrls`.
 */
export function printValue(
  piece: ReferencePiece,
  { value, inert }: Found,
  inUrls: boolean,
): string | undefined {
  const isInert = inert === true;
  const mayJoin = isInert || inUrls;
  if (isScalar(value)) return isInert ? inertText(renderInline(value)) : renderInline(value);
  const isRows = isTable(value);
  // A projection's list prints in one line, unless it is a table (decision 0003).
  if (!piece.alone || (isProjection(piece.reference) && !isRows)) {
    const text = printInline(value);
    if (isInert) return inertText(text);
    return mayJoin || !reachesOver(text, tokensOf) ? text : undefined;
  }
  const block = renderBlock(value, piece.source);
  if (isRows && !mayJoin && reachesOver(block, cellsOf)) return undefined;
  // Code has no links, but a fence inside HTML is not code.
  const inertBlock = () => (isRows ? inertText(block) : block.replaceAll("<", "\\u003c"));
  // A line break on each side makes an empty line for Markdown; none at the ends of the response.
  return (piece.first ? "" : "\n") + (isInert ? inertBlock() : block) + (piece.last ? "" : "\n");
}

function isProjection({ path }: ReferencePiece["reference"]): boolean {
  return path.some((segment) => "each" in segment);
}

/** Prints an array or object in a line, with spaces if a URL in one of its strings could reach into the next. */
function printInline(value: JsonArray | JsonObject): string {
  const text = renderInline(value);
  return hasUrl(value) || joinsParts(tokensOf(text)) ? renderInline(value, " ") : text;
}

/** Linear in the text: the scheme's last letter is enough. */
const URL_START = /[a-z][0-9+.-]*:|www\.|@|\/\//i;

/** True if any string in the value, a key too, may have a URL or an address. */
function hasUrl(value: Json): boolean {
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string" && URL_START.test(next)) return true;
    if (isScalar(next)) continue;
    for (const [key, inner] of Object.entries(next)) {
      if (URL_START.test(key)) return true;
      open.push(inner);
    }
  }
  return false;
}

/** Splits JSON in a line into strings, commas and colons, and the rest. */
function tokensOf(json: string): Iterable<string> {
  return json.match(/"[^"\\]*(?:\\.[^"\\]*)*"?|[,:] ?|[^",:]+/g) ?? [];
}

/** Splits a Markdown table into cells and what is between them. */
function cellsOf(table: string): Iterable<string> {
  return table.split(/((?<!\\)\|)/);
}

/** True for a tag, or a destination in angle brackets, that opens in one part: a space does not end them. */
function reachesOver(text: string, partsOf: (text: string) => Iterable<string>): boolean {
  return text.includes("<") && joinsParts(partsOf(text));
}

/** True if a URL that opens in one part of a printed array or object reaches into another. Cost: linear. */
function joinsParts(parts: Iterable<string>): boolean {
  const urls = new UrlTracker();
  for (const part of parts) {
    if (urls.isOpen && /\w/.test(part)) return true;
    urls.feed(part);
  }
  return false;
}
