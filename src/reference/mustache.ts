import { matchReference } from "./grammar.ts";
import { NONE, PARTIAL, type Syntax, type View } from "./reference.ts";

/** `{{ name.path }}`, with optional spaces and tabs inside the braces. */
export const mustache: Syntax = {
  name: "mustache",
  opening: "{",
  match(view) {
    const { text, limit, ended } = view;
    const undecided = ended ? NONE : PARTIAL;
    const second = view.start + 1;
    if (second >= limit) return undecided;
    if (text[second] !== "{") return NONE;
    const match = matchReference(view, skipBlanks(view, second + 1));
    if (match.kind !== "whole") return match;
    const close = skipBlanks(view, match.end);
    for (let at = close; at < close + 2; at++) {
      if (at >= limit) return undecided;
      if (text[at] !== "}") return NONE;
    }
    return { ...match, end: close + 2 };
  },
};

function skipBlanks({ text, limit }: View, start: number): number {
  let at = start;
  while (at < limit && (text[at] === " " || text[at] === "\t")) at++;
  return at;
}
