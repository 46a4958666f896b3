import { matchName, matchPath, NONE, PARTIAL, type Syntax } from "../../src/references.ts";

/** A custom syntax: `%{name.path}`. */
export const percent: Syntax = {
  name: "percent",
  opening: "%",
  match(view) {
    const { text, limit, ended } = view;
    if (view.start + 1 >= limit) return ended ? NONE : PARTIAL;
    if (text[view.start + 1] !== "{") return NONE;
    const { end, undecided } = matchName(view, view.start + 2);
    if (end < 0) return NONE;
    const name = text.slice(view.start + 2, end);
    if (!view.couldBegin(name)) return NONE;
    if (undecided) return PARTIAL;
    const path = matchPath(view, end);
    if (path.undecided) return PARTIAL;
    if (path.end >= limit || text[path.end] !== "}") return NONE;
    return { kind: "whole", end: path.end + 1, reference: { name, path: path.path } };
  },
};
