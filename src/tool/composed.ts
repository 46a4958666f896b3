import { UrlTracker } from "../reference/url-tracker.ts";
import type { Json } from "../value/json.ts";

/**
 * Longer texts are not searched. A composed text beyond this limit counts as having an unknown URL, a source
 * text as having none.
 */
const MAX_MADE_CHARS = 1_048_576;
const MAX_USED_CHARS = 2_097_152;

/** The values that URLs may come from. Each value is read once, and only if a composed value has URLs. */
export class UrlSources {
  readonly #values: (() => Json | Promise<Json>)[] = [];
  /** Number of values that were read. */
  #read = 0;
  readonly #urls = new Set<unknown>();
  readonly #left = { chars: MAX_USED_CHARS };
  /** Shared by all composed values, because code may call many tools with long texts. */
  readonly #leftMade = { chars: MAX_MADE_CHARS };
  #search: Promise<unknown> = Promise.resolve();

  add(read: () => Json | Promise<Json>): void {
    this.#values.push(read);
  }

  /**
   * True if there are source values, and a string or key of `made` has a URL that no source value contains
   * in full. Composed values are checked one after the other, because a parallel check could miss a value
   * that is still being read.
   */
  hasUnknownUrl(made: Json): Promise<boolean> {
    const search = this.#search.then(() => this.#findUnknownUrl(made));
    this.#search = search.catch(() => undefined);
    return search;
  }

  async #findUnknownUrl(made: Json): Promise<boolean> {
    if (this.#values.length === 0) return false;
    for (const url of urlsIn(made, this.#leftMade)) {
      while (!this.#urls.has(url)) {
        const read = this.#left.chars < 0 ? undefined : this.#values[this.#read];
        if (read === undefined) return true;
        this.#read++;
        for (const known of urlsIn(await read(), this.#left)) this.#urls.add(known);
      }
    }
    return false;
  }
}

/** Checks a composed value against source values in memory. */
export function isComposed(made: Json, used: readonly Json[]): Promise<boolean> {
  const sources = new UrlSources();
  for (const value of used) sources.add(() => value);
  return sources.hasUnknownUrl(made);
}

/** Returns the URLs in a value. Cost: linear. */
function urlsIn(value: Json, left: { chars: number }): Set<unknown> {
  const urls = new Set<unknown>();
  const add = (text: unknown) => {
    if (typeof text !== "string" || !/[/:@<(]|www/i.test(text)) return;
    left.chars -= text.length;
    // A unique symbol is an unknown URL: it equals no other.
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

/** Adds each URL, from its start to the end that the tracker finds, without trailing Markdown characters. */
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
