import type { ExpandOptions } from "../../src/reference/expand.ts";
import { expanded } from "./streamed.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { type PageUrl, renderers, urlsOf } from "./markdown-renderers.ts";
import { randomFrom } from "./reference-grammar.ts";
import type { Variables } from "./reference-oracle.ts";
import { CANARY, urlText, urlVariables } from "./url-grammar.ts";

/** A URL that a renderer makes out of an answer and that contains a value. */
interface UrlLeak extends PageUrl {
  readonly renderer: string;
  readonly html: string;
}

/** Yields each of `count` texts from which some renderer makes a URL that contains a value. */
export function* leakingTexts(firstSeed: number, count: number) {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const text = urlText(seed);
    const answer = expandedInPieces(text, seed);
    const leaks = urlLeaks(answer);
    if (leaks.length > 0) yield { seed, text, answer, leaks };
  }
}

/**
 * Returns the URLs with the canary that renderers make of an answer, provided that its values open no URL
 * themselves.
 */
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
 * The local part of an e-mail address does not count as a leak, because nothing is sent until the user writes
 * to it. Neither does the start of a host that linkify only guesses (`value.com`): text that is read forward does
 * not show what follows.
 */
function isLeak({ url, text, renderer }: UrlLeak): boolean {
  if (!url.includes(CANARY)) return false;
  const isByLooks = renderer.includes("linkify") && !text.toLowerCase().startsWith("http:");
  const rest = url
    .replace(/^mailto:[^@]*@/, "")
    .replace(isByLooks ? /^http:\/\/[^/?#]*/ : /^$/, "");
  return rest.includes(CANARY);
}

export function answerWith(text: string, variables: Variables, options?: ExpandOptions): string {
  return expandedFrom([text], variables, options);
}

/** Returns the answer to a text that arrives in pieces. The seed determines the pieces. */
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
  return expanded(lookupIn(variables), pieces, options).text;
}
