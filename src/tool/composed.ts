import { UrlTracker } from "../reference/url-tracker.ts";
import type { Json } from "../value/json.ts";

/** Longer texts are not searched: a made one counts as having an unknown URL, a used one as having none. */
const MAX_MADE_CHARS = 1_048_576;
const MAX_USED_CHARS = 8_388_608;

/**
 * True if values were used, and a string or key of `made` has a URL that none of them has as a whole. The
 * used values are read only if `made` has URLs.
 */
export async function isComposed(
  made: Json,
  used: Iterable<Json> | AsyncIterable<Json>,
): Promise<boolean> {
  const urls = urlsIn(made, { chars: MAX_MADE_CHARS });
  if (urls.size === 0) return false;
  const left = { chars: MAX_USED_CHARS };
  let isUsed = false;
  for await (const value of used) {
    isUsed = true;
    for (const url of urlsIn(value, left)) urls.delete(url);
    if (left.chars < 0 || urls.size === 0) break;
  }
  return isUsed && urls.size > 0;
}

/** Cost: linear. */
function urlsIn(value: Json, left: { chars: number }): Set<unknown> {
  const urls = new Set<unknown>();
  const add = (text: unknown) => {
    if (typeof text !== "string" || !/[/:@<(]|www/i.test(text)) return;
    left.chars -= text.length;
    // An unknown URL, equal to no other.
    if (left.chars < 0) urls.add(Symbol());
    else addUrls(urls, text);
  };
  JSON.stringify(value, (key, inner: unknown) => {
    add(key);
    add(inner);
    return inner;
  });
  return urls;
}

/** Adds each URL, from its start to the end that the tracker sees, without Markdown characters after it. */
function addUrls(urls: Set<unknown>, text: string): void {
  const tracker = new UrlTracker();
  let from = -1;
  for (let at = 0; at <= text.length; at++) {
    tracker.feed(text.charAt(at));
    const isOpen = at < text.length && tracker.isOpen;
    if (isOpen && from < 0) {
      from =
        at + 1 - (/[\w.+:/@-]*$/.exec(text.slice(Math.max(at - 80, 0), at + 1))?.[0].length ?? 0);
    } else if (!isOpen && from >= 0) {
      urls.add(text.slice(from, at).replace(/[^\w/]{1,3}$/, ""));
      from = -1;
    }
  }
}
