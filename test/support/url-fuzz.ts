import { Expander, type ExpandOptions } from "../../src/reference/expand.ts";
import { inertText } from "../../src/reference/inert-text.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { UrlTracker } from "../../src/reference/url-tracker.ts";
import { type PageUrl, renderers, urlsOf } from "./markdown-renderers.ts";
import { randomFrom } from "./reference-grammar.ts";
import type { Variables } from "./reference-oracle.ts";
import { CANARY, harmlessVariables, urlText, urlVariables } from "./url-grammar.ts";

/** A renderer that makes a URL with a value in it out of an answer. */
interface UrlLeak extends PageUrl {
  readonly renderer: string;
  readonly html: string;
}

/** Each text of `count` of which some renderer makes a URL that a value got into. */
export function* leakingTexts(firstSeed: number, count: number) {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const text = urlText(seed);
    const answer = expandedInPieces(text, seed);
    const leaks = urlLeaks(answer);
    if (leaks.length > 0) yield { seed, text, answer, leaks };
  }
}

/** URLs with the canary in them that renderers make of an answer whose values open no URL themselves. */
export function urlLeaks(answer: string): readonly UrlLeak[] {
  if (!answer.toLowerCase().includes(CANARY)) return [];
  return Object.entries(renderers).flatMap(([renderer, render]) => {
    const html = render(answer);
    return urlsOf(html)
      .map((url) => ({ ...url, renderer, html }))
      .filter(isLeak);
  });
}

/**
 * The local part of an e-mail address is no leak: nothing is sent until the person writes to it. Nor is
 * a scheme that is the value, nor the start of a host that linkify finds by its looks (`value.com`):
 * reading forward, nobody knows that one follows.
 */
function isLeak({ url, text, renderer }: UrlLeak): boolean {
  if (!url.includes(CANARY)) return false;
  const isByLooks = renderer.includes("linkify") && !text.toLowerCase().startsWith("http:");
  const rest = url
    .replace(/^mailto:[^@]*@/, "")
    .replace(/^[^:/?#]*:/, "")
    .replace(isByLooks ? /^\/\/[^/?#]*/ : /^$/, "");
  return rest.includes(CANARY);
}

export function answerWith(text: string, variables: Variables, options?: ExpandOptions): string {
  return expandedFrom([text], variables, options);
}

/** The text's answer, if the text comes in pieces that the seed decides. */
export function expandedInPieces(text: string, seed: number, variables = urlVariables): string {
  const random = randomFrom(seed ^ 0x55aa55aa);
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + 1 + Math.floor(random() * 40);
    pieces.push(text.slice(start, end));
    start = end;
  }
  return expandedFrom(pieces, variables);
}

function expandedFrom(
  pieces: readonly string[],
  variables: Variables,
  options?: ExpandOptions,
): string {
  const expander = new Expander(lookupIn(variables), options);
  let answer = "";
  const emit = (piece: string) => (answer += piece);
  for (const piece of pieces) void expander.write(piece, emit);
  void expander.flush(emit);
  return answer;
}

/** A random value with URLs in it, printed as inert in the middle of a random answer: a leak, or none. */
export function inertLeak(seed: number) {
  const harmless = (own: number, chars: number) =>
    answerWith(urlText(own).slice(0, chars), harmlessVariables, { inUrls: true });
  const value = answerWith(urlText(seed), urlVariables, { inUrls: true, inCode: true });
  const before = harmless(seed + 50_000_000, seed % 60);
  const after = `${harmless(seed + 90_000_000, seed % 40)}\n\n[p][a] ![p][a]`;
  const urls = new UrlTracker();
  urls.feed(before);
  if (urls.isOpen) return undefined;
  const answer = before + inertText(value) + after;
  const [leak] = urlLeaks(answer);
  return leak === undefined ? undefined : { seed, answer, leak };
}
