import { formatPath, type Path } from "../../src/value/path.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { nearest } from "../../src/reference/near.ts";

/** A call, as a model writes it. */
export type Call = { readonly tool: string; readonly input: Readonly<Record<string, Json>> };

/** The next step of a model that knows only the error text and takes it literally. */
type Next = Call | "goes on without it" | "is lost";

/** A rule follows a text, or does not. */
type Rule = readonly [
  says: RegExp,
  next: (call: Call, first: string, second: string, third: string) => Next | undefined,
];

/** Follows the text of an error. The first rule that the text fits and that changes the call decides. */
export function followError(text: string, call: Call): Next {
  for (const [says, next] of rules) {
    const [, first = "", second = "", third = ""] = says.exec(text) ?? [];
    const followed = says.test(text) ? next(call, first, second, third) : undefined;
    if (followed !== undefined && JSON.stringify(followed) !== JSON.stringify(call))
      return followed;
  }
  return "is lost";
}

/** Replaces the word of the call that is most like the advice. */
function swapped(call: Call, advice: string): Call | undefined {
  const text = JSON.stringify(call.input);
  const words = new Set(text.match(/[A-Za-z_]\w*/gu));
  words.delete(advice);
  const [wrong] = nearest(advice, words);
  return wrong === undefined ? undefined : replaced(call, wrong, advice);
}

function replaced(call: Call, wrong: string, right: string): Call {
  const pattern = new RegExp(`(?<![\\w])${escaped(wrong)}(?![\\w])`, "gu");
  return rewritten(call, (text) => text.replace(pattern, () => right));
}

function rewritten(call: Call, rewrite: (text: string) => string): Call {
  return { ...call, input: JSON.parse(rewrite(JSON.stringify(call.input))) as Call["input"] };
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]*.]/gu, String.raw`\$&`);
}

/** Sets a parameter that an issue of a validator names. */
function set(call: Call, path: string, value: Json): Call {
  const [key = ""] = path.split(".");
  return { ...call, input: { ...call.input, [key]: value } };
}

const EXAMPLES: Readonly<Record<string, Json>> = {
  string: "text",
  number: 1,
  array: [],
  object: {},
  nonoptional: "text",
};

/** Shortens the path of the call's reference by its last step. */
function oneLevelUp(call: Call): Call {
  const [, name = "", rest = ""] = /^\$?(\w+)(.*)$/u.exec(String(call.input.name)) ?? [];
  const path: Path = parsePath(rest) ?? [];
  return { ...call, input: { ...call.input, name: `${name}${formatPath(path.slice(0, -1))}` } };
}

function read(call: Call): Call {
  const [, name = ""] = /^\$?(\w+)/u.exec(String(call.input.name)) ?? [];
  return { tool: "read_variable", input: { name } };
}

function patched(call: Call, operation: Json): Call {
  const [name = ""] = /^\w+/u.exec(String(call.input.name)) ?? [];
  return { tool: "edit_variable", input: { name, edits: [operation] } };
}

/** Returns the first key with this type in a shape such as `{id: string, total: number}[]`. */
function columnOf(shape: string, type: string): string | undefined {
  return new RegExp(`(\\w+): ${type}\\b`, "u").exec(shape)?.[1];
}

const rules: readonly Rule[] = [
  // References and names that exist.
  [
    /\$(\w[^\s"]*) leads nowhere\..* Did you mean (\w+(?:\.|\[).*?)\?/u,
    (call, wrong, right) =>
      rewritten(call, (text) => text.replaceAll(`$${wrong}`, () => `$${right}`)),
  ],
  [
    /leads nowhere\. (\S+) is (?:null|a \w+)/u,
    (call, existing) =>
      rewritten(call, (text) => text.replace(/\$\w[^\s"]*/u, () => `$${existing}`)),
  ],
  [/Did you mean:? \$?(\w+)/u, retool],
  [/Did you mean:? \$?(\w+)/u, swapped],
  [/The nearest is (\w+)\./u, swapped],
  [/The nearest is line \d+: (.+)$/mu, (call, line) => withEdit(call, { find: line })],
  [
    // Uses the expected type, if the text names one.
    /^([^]*)\$(\w+)\S* is not a variable\. There are (.+)\.$/mu,
    (call, before, wrong, list) => {
      const [, type = "\\w+"] = /expected (array|string|object|number)/u.exec(before) ?? [];
      const [, right] = new RegExp(`\\$(\\w+) \\(${type}\\)`, "u").exec(list) ?? [];
      return right === undefined ? undefined : replaced(call, wrong, right);
    },
  ],
  [/is not a variable\. Call list_variables\.$/mu, () => ({ tool: "list_variables", input: {} })],
  [/There is no tool \S+ There are: (\w+)/u, (call, tool) => ({ ...call, tool })],
  [/^\S+ \/(\w+) leads nowhere\. The value has the keys (\w+)/u, replaced],
  [
    /leads nowhere\. (\S+) has length (\d+)/u,
    (call, array, length) => {
      const past = new RegExp(`${escaped(array)}(\\[\\d+\\]|\\.\\w+)`, "u");
      const last = `${array}[${Number(length) - 1}]`;
      return rewritten(call, (text) => text.replace(past, () => last));
    },
  ],
  [/There is no table (\w+)\. The newest variables are (\w+)/u, replaced],
  [/no such column: (\w+)[^]*Tables: \w+\((\w+)/u, replaced],
  // Values that fit.
  [
    /: (\w+)\.0: Invalid input: expected (\w+), received object[^]*\. \$\w+ is (\{.+\}\[\])\./u,
    (call, key, type, shape) =>
      set(call, key, `${String(call.input[key])}[*].${columnOf(shape, type) ?? ""}`),
  ],
  [/: ([\w.]+): Invalid option: expected one of "(\w+)"/u, set],
  [
    /: ([\w.]+): Too big: expected string to have <=(\d+) characters/u,
    (call, key, length) => {
      const value = String(call.input[key]);
      return set(
        call,
        key,
        value.startsWith("$") ? `${value}[:${length}]` : value.slice(0, Number(length)),
      );
    },
  ],
  [
    /: ([\w.]+): Too small: expected number to be >=(\d+)/u,
    (call, key, least) => set(call, key, Number(least)),
  ],
  [
    /Unrecognized key: "(\w+)"/u,
    (call, key) => {
      const { [key]: _wrong, ...input } = call.input;
      return { ...call, input };
    },
  ],
  [
    /edits\.\d\.replace: Invalid input: expected string/u,
    (call) => withEdit(call, { replace: "" }),
  ],
  [
    /: ([\w.]+): Invalid input: expected (\w+), received/u,
    (call, key, type) => set(call, key, EXAMPLES[type] ?? null),
  ],
  [
    /maxStatementChars is at most (\d+), this is \d+\./u,
    (call, most) => set(call, "sql", String(call.input.sql).trim().slice(0, Number(most))),
  ],
  // A variable of another name.
  [/Write a variable of another name/u, (call) => set(call, "name", "another")],
  [/There is no (?:table|variable) (\w+)\. Did you mean (\w+)/u, replaced],
  [/The query is empty\./u, (call) => set(call, "query", "text")],
  // Syntax.
  [
    /is not the name of a variable\. Write letters, digits and _, the first not a digit/u,
    (call) => {
      const [name = ""] = /[A-Za-z_]\w*/u.exec(String(call.input.name)) ?? [];
      return set(call, "name", name);
    },
  ],
  [/is not a place to save to\. Write (\$\w+)/u, (call, place) => set(call, "_outputPath", place)],
  [
    /mixes \|\| and &&; use one of them/u,
    (call) => set(call, "_outputPath", String(call.input._outputPath).replaceAll("&&", "||")),
  ],
  [/cannot be written here/u, (call) => set(call, "_outputPath", "$another")],
  [/use mode=(\w+)/u, (call, mode) => set(call, "mode", mode)],
  [/append to the array with mode=append/u, (call) => set(oneLevelUp(call), "mode", "append")],
  [/Write one level above it/u, oneLevelUp],
  [/replaced as a whole/u, oneLevelUp],
  [/undo restores a whole variable/u, oneLevelUp],
  [
    /with edit_variable: \[\{"op": "remove", "path": "\/…"\}\]/u,
    (call) => patched(call, { op: "remove", path: `/${String(call.input.name).split(".")[1]}` }),
  ],
  [
    /JSON Patch: \[\{op, path, value\}\]/u,
    (call) => patched(call, { op: "add", path: "/added", value: 1 }),
  ],
  [
    /edits is empty\. All edits of a call are \{find, replace, all\?\}/u,
    (call) => withEdit(call, { find: "one", replace: "1" }),
  ],
  [/or set all/u, (call) => withEdit(call, { all: true })],
  [/Read it/u, read],
  // SQL.
  [
    /ends with LIMIT and a number up to (\d+), before its closing parenthesis/u,
    (call, most) =>
      set(call, "sql", String(call.input.sql).replace(/\)(?= SELECT)/u, ` LIMIT ${most})`)),
  ],
  [
    /There is more than one statement/u,
    (call) => set(call, "sql", String(call.input.sql).split(";")[0] ?? ""),
  ],
  [
    /begins with (\w+)\. (?:A query is one|Did you mean) (SELECT)/u,
    (call, wrong, right) => {
      const [, rest = ""] = String(call.input.sql).split(`${wrong} `);
      return set(call, "sql", rest.startsWith("FROM") ? `${right} * ${rest}` : `${right} ${rest}`);
    },
  ],
  [/Write one SELECT/u, (call) => set(call, "sql", "SELECT 1")],
  [
    /aggregate before joining/u,
    (call) => set(call, "sql", String(call.input.sql).replace(/,.*$/u, "")),
  ],
  [/need a written format/u, (call) => set(call, "sql", String(call.input.sql).replace("*", "9"))],
  // Alternatives.
  [
    /It can be passed to tools as a reference|Pass it to a tool by reference/u,
    (call) => {
      const [name = ""] = /\b(?:key|bin)\b/u.exec(JSON.stringify(call.input)) ?? [];
      return { tool: "keep", input: { it: `$${name}` } };
    },
  ],
  [
    /It came from (\w+)\((\{.*\})\): call that again/u,
    (_, tool, input) => ({ tool, input: JSON.parse(input) as Call["input"] }),
  ],
  [/Ask for less/u, (call) => set(call, "amount", 1)],
  [
    /; (?:call|try) again|Call it again|Make it first/u,
    (call) => ({ ...call, input: { ...call.input, again: true } }),
  ],
  [
    /Do not try again|continue without|is secret and cannot be used here|Find out before you repeat it|cannot be deleted|was not allowed|cannot be changed/u,
    () => "goes on without it",
  ],
];

/** Replaces the tool if the advice is a similar tool name. */
function retool(call: Call, name: string): Call {
  return nearest(name, [call.tool]).length > 0 ? { ...call, tool: name } : call;
}

function withEdit(call: Call, more: Readonly<Record<string, Json>>): Call {
  const edits = call.input.edits as readonly Readonly<Record<string, Json>>[];
  return { ...call, input: { ...call.input, edits: [{ ...edits[0], ...more }] } };
}
