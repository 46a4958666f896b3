import { matchReference } from "./grammar.ts";
import { NONE, type Syntax } from "./reference.ts";

const PREFIX = "variable:";

/** `variable:name.path`, only as a whole string, so no text follows. (`file:` targets are storage, not references.) */
export const target: Syntax = {
  name: "target",
  opening: "v",
  wholeOnly: true,
  match: (view) =>
    view.text.startsWith(PREFIX, view.start)
      ? matchReference({ ...view, ended: true }, view.start + PREFIX.length)
      : NONE,
};
