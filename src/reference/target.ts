import { matchName, matchPath } from "./grammar.ts";
import { NONE, type Syntax } from "./reference.ts";

const PREFIX = "variable:";

/** `variable:name.path`, only as a whole string. (`file:` targets are storage, not references.) */
export const target: Syntax = {
  name: "target",
  opening: "v",
  wholeOnly: true,
  match(view) {
    if (!view.text.startsWith(PREFIX, view.start)) return NONE;
    const start = view.start + PREFIX.length;
    const nameMatch = matchName(view, start);
    if (nameMatch.end < 0) return NONE;
    const { end, path } = matchPath(view, nameMatch.end);
    if (end === start) return NONE;
    return {
      kind: "whole",
      end,
      reference: { name: view.text.slice(start, nameMatch.end), path },
    };
  },
};
