import { UrlTracker } from "../reference/url-tracker.ts";
import type { Json } from "../value/json.ts";

/** Looking through more would take too long: what is made may have any URL, what is used has none. */
const MAX_MADE_CHARS = 1_048_576;
const MAX_USED_CHARS = 8_388_608;

/**
 * True if the strings and keys of `made` have a URL that none of the used values has as a whole, where there
 * are used values. They are read only if `made` has URLs.
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
    // Equal to no other.
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

/** From where a URL begins to where the tracker sees its end, without what Markdown puts behind it. */
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
