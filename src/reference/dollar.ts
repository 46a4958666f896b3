import { isWordCode } from "../value/characters.ts";
import { matchReference } from "./grammar.ts";
import { NONE, type Syntax } from "./reference.ts";

const DOLLAR = 36;

/** `$name.path` and `${name.path}`. */
export const dollar: Syntax = {
  name: "dollar",
  opening: "$",
  match(view) {
    if (view.before === DOLLAR || isWordCode(view.before)) return NONE;
    const next = view.start + 1;
    const isBraced = view.text[next] === "{";
    const match = matchReference(view, isBraced ? next + 1 : next);
    if (match.kind !== "whole") return match;
    const closing = view.text[match.end];
    if (isBraced) return closing === "}" ? { ...match, end: match.end + 1 } : NONE;
    // A dollar sign directly after it makes it mathematics.
    return closing === "$" ? NONE : match;
  },
};
