import { isWordCode } from "../value/characters.ts";
import { matchName, matchPath } from "./grammar.ts";
import { type Match, NONE, PARTIAL, type Syntax, type View } from "./reference.ts";

const DOLLAR = 36;

/** `$name.path` and `${name.path}`. */
export const dollar: Syntax = {
  name: "dollar",
  opening: "$",
  match(view) {
    if (view.before === DOLLAR || isWordCode(view.before)) return NONE;
    const next = view.start + 1;
    if (next >= view.limit) return view.ended ? NONE : PARTIAL;
    return view.text[next] === "{" ? matchBraced(view, next + 1) : matchPlain(view, next);
  },
};

function matchPlain(view: View, start: number): Match {
  const name = matchName(view, start);
  if (name.end < 0) return NONE;
  const text = view.text.slice(start, name.end);
  if (!view.couldBegin(text)) return NONE;
  if (name.undecided) return PARTIAL;
  if (!view.isKnown(text)) return NONE;
  const { end, path, undecided } = matchPath(view, name.end);
  if (undecided) return PARTIAL;
  // A closing dollar right after makes it mathematics.
  if (end < view.limit && view.text.charCodeAt(end) === DOLLAR) return NONE;
  return { kind: "whole", end, reference: { name: text, path } };
}

function matchBraced(view: View, start: number): Match {
  const name = matchName(view, start);
  if (name.end < 0) return NONE;
  const text = view.text.slice(start, name.end);
  if (!view.couldBegin(text)) return NONE;
  if (name.undecided) return PARTIAL;
  if (!view.isKnown(text)) return NONE;
  const { end, path, undecided } = matchPath(view, name.end);
  if (undecided) return PARTIAL;
  if (end >= view.limit) return NONE;
  return view.text[end] === "}"
    ? { kind: "whole", end: end + 1, reference: { name: text, path } }
    : NONE;
}
