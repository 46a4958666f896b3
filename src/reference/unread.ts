import { formatPath, type Path } from "../value/path.ts";
import { matchPath } from "./grammar.ts";
import type { Reference, Syntax } from "./reference.ts";

/** Text in braces that begins as a reference does, and that the grammar does not read: `{{v.first name}}`. */
export interface Unread {
  readonly source: string;
  /** What was probably meant: the rest is a key. */
  readonly reference: Reference;
  /** The same in a form that is read. */
  readonly written: string;
}

const PATH = String.raw`(?<name>[A-Za-z_]\w{0,63})(?<rest>[.[][^{}\r\n]{0,400})`;

/** Forms of the built-in syntaxes, and how a reference is written in them. */
const FORMS: Readonly<
  Record<string, { readonly form: RegExp; readonly write: (text: string) => string }>
> = {
  mustache: {
    form: new RegExp(String.raw`(?<!\\)\{\{[ \t]*${PATH}\}\}`, "gu"),
    write: (text) => `{{${text}}}`,
  },
  dollar: {
    form: new RegExp(String.raw`(?<![\\$\w])\$\{${PATH}\}`, "gu"),
    write: (text) => `\${${text}}`,
  },
};

/** Finds such text, whether or not its name is known. Cost: linear. */
export function* unreadIn(text: string, syntaxes: readonly Syntax[]): Generator<Unread> {
  for (const { name: syntax } of syntaxes) {
    const { form, write } = FORMS[syntax] ?? {};
    if (form === undefined || write === undefined) continue;
    for (const { 0: source, groups = {} } of text.matchAll(form)) {
      const { name = "", rest: written = "" } = groups;
      const rest = written.trimEnd();
      const { end, path: start } = matchPath({ text: rest, limit: rest.length, ended: true }, 0);
      if (end === rest.length) continue;
      const path = pathOf(start, rest.slice(end));
      yield { source, reference: { name, path }, written: write(`${name}${formatPath(path)}`) };
    }
  }
}

/** The rest is a key, or the end of one: `.first name` is read up to the space. */
function pathOf(read: Path, rest: string): Path {
  const last = read.at(-1);
  if (last !== undefined && "key" in last && !/^[.[]/u.test(rest)) {
    return [...read.slice(0, -1), { key: last.key + rest }];
  }
  return [...read, { key: rest.replace(/^\.|^\[["']?|["']?\]$/gu, "") }];
}
