import { matchName, matchPath } from "./grammar.ts";
import { NONE, PARTIAL, type Syntax, type View } from "./reference.ts";

/** `{{ name.path }}`, with spaces and tabs inside the braces if one likes. */
export const mustache: Syntax = {
  name: "mustache",
  opening: "{",
  match(view) {
    const { text, limit, ended } = view;
    const undecidedOrNone = ended ? NONE : PARTIAL;
    if (view.start + 1 >= limit) return undecidedOrNone;
    if (text[view.start + 1] !== "{") return NONE;
    const start = skipBlanks(view, view.start + 2);
    if (start >= limit) return undecidedOrNone;
    const nameMatch = matchName(view, start);
    if (nameMatch.end < 0) return NONE;
    const name = text.slice(start, nameMatch.end);
    if (!view.couldBegin(name)) return NONE;
    if (nameMatch.undecided) return PARTIAL;
    if (!view.isKnown(name)) return NONE;
    const pathMatch = matchPath(view, nameMatch.end);
    if (pathMatch.undecided) return PARTIAL;
    const close = skipBlanks(view, pathMatch.end);
    for (let at = close; at < close + 2; at++) {
      if (at >= limit) return undecidedOrNone;
      if (text[at] !== "}") return NONE;
    }
    return { kind: "whole", end: close + 2, reference: { name, path: pathMatch.path } };
  },
};

function skipBlanks({ text, limit }: View, start: number): number {
  let at = start;
  while (at < limit && (text[at] === " " || text[at] === "\t")) at++;
  return at;
}
