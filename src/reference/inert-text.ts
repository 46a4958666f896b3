import { UrlTracker } from "./url-tracker.ts";

/**
 * Characters that open a link, an image, an autolink, a definition or a tag, on their own or together with
 * what stands before the text.
 */
const URL_PARTS =
  /\\(?!\|)|[&<@=]|\/(?=[/\\])|\.(?=\p{L})|(?<=www)\.|(?<=[a-z]):|\](?=\s*[(:])|^[(:./]/giu;

/** Invisible; prevents a line break. */
const WORD_JOINER = "\u2060";

/**
 * The text with its URLs inert: no Markdown or HTML renderer makes a link, an image or a tag of them. A
 * backslash escapes each character that opens one. A word joiner keeps `//`, `www.` and tags apart for
 * renderers that look for URLs in their own output. Text without such characters does not change.
 */
export function inertText(text: string): string {
  return text.replace(URL_PARTS, (part, at: number) => {
    const isJoined = part === "/" || part === "<" || /www$/i.test(text.slice(at - 3, at));
    return `\\${part}${isJoined ? WORD_JOINER : ""}`;
  });
}

/**
 * True if a URL that one string of a printed array or object opens reaches into the next. `text` is compact
 * JSON, or a Markdown table. Cost: linear.
 */
export function joinsStrings(text: string): boolean {
  const last = text.search(/\w\W*$/);
  const urls = new UrlTracker();
  for (let at = 0; at < last; at++) {
    const character = text.charAt(at);
    urls.feed(character);
    if (urls.isOpen && (character === '"' || character === "|")) return true;
  }
  return false;
}
