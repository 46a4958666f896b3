import { isScalar, type Json, type JsonArray, type JsonObject } from "../value/json.ts";
import { isTable, renderBlock, renderInline } from "../value/render.ts";
import { inertText } from "./inert-text.ts";
import type { Found } from "./lookup.ts";
import type { ReferencePiece } from "./scanner.ts";
import { UrlTracker } from "./url-tracker.ts";

/**
 * Prints the value of a reference after a text. Returns undefined if a renderer may read several of its strings as one
 * tag or URL, whatever is between them. `before`: undefined if references resolve `inUrls`.
 */
export function printValue(
  piece: ReferencePiece,
  { value, inert }: Found,
  before: Pick<UrlTracker, "isRaw"> | undefined,
): string | undefined {
  const isInert = inert === true;
  const mayJoin = isInert || before === undefined;
  const isRaw = before?.isRaw === true;
  if (isScalar(value)) return isInert ? inertText(renderInline(value)) : renderInline(value);
  const isRows = isTable(value);
  // A projection's list prints in one line, unless it is a table (decision 0003).
  if (!piece.alone || (isProjection(piece.reference) && !isRows)) {
    const text = printInline(value);
    if (isInert) return inertText(text);
    return mayJoin || !reachesOver(text, tokensOf, isRaw) ? text : undefined;
  }
  const block = renderBlock(value, piece.source);
  // Code has no tags, but a fence inside raw HTML is not code.
  const mayReach = isRows
    ? reachesOver(block, cellsOf, isRaw)
    : isRaw && reachesOver(block, tokensOf, isRaw);
  if (!mayJoin && mayReach) return undefined;
  const inertBlock = () => (isRows ? inertText(block) : block.replaceAll("<", "\\u003c"));
  // A line break on each side makes an empty line for Markdown; none at the ends of the response.
  const gap = piece.isAfterReturn ? "\n\n" : "\n";
  const shown = isInert ? inertBlock() : block;
  return `${piece.first ? "" : gap}${shown}${piece.last ? "" : "\n"}`;
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
function reachesOver(
  text: string,
  partsOf: (text: string) => Iterable<string>,
  isRaw: boolean,
): boolean {
  return text.includes("<") && joinsParts(partsOf(text), isRaw);
}

/** True if a URL that opens in one part of a printed array or object reaches into another. Cost: linear. */
function joinsParts(parts: Iterable<string>, isRaw = false): boolean {
  const urls = new UrlTracker();
  if (isRaw) urls.feed("<pre>");
  for (const part of parts) {
    if (urls.isOpen && /\w/.test(part)) return true;
    urls.feed(part);
  }
  return false;
}
