import { formatPath, type Path } from "../../src/value/path.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { nearest } from "../../src/reference/near.ts";

/** A call, as a model writes it. */
export interface Call {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
}

/** The next step of a model that knows only the error text and takes it literally. */
type Next = Call | "goes on without it" | "is lost";

interface Rule {
  readonly says: RegExp;
  next(call: Call, found: readonly string[]): Next | undefined;
}

/** Follows the text of an error. The first rule that the text fits and that changes the call decides. */
export function followError(text: string, call: Call): Next {
  for (const { says, next } of rules) {
    const found = says.exec(text);
    const followed = found === null ? undefined : next(call, found.slice(1).map(String));
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
  const text = JSON.stringify(call.input).replace(pattern, () => right);
  return { ...call, input: JSON.parse(text) as Call["input"] };
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
  {
    says: /\$(\w[^\s"]*) leads nowhere\..* Did you mean (\w+(?:\.|\[).*?)\?/u,
    next: (call, [wrong = "", right = ""]) => {
      const text = JSON.stringify(call.input).replaceAll(`$${wrong}`, () => `$${right}`);
      return { ...call, input: JSON.parse(text) as Call["input"] };
    },
  },
  {
    says: /leads nowhere\. (\S+) is (?:null|a \w+)/u,
    next: (call, [existing = ""]) => {
      const text = JSON.stringify(call.input).replace(/\$\w[^\s"]*/u, () => `$${existing}`);
      return { ...call, input: JSON.parse(text) as Call["input"] };
    },
  },
  { says: /Did you mean:? \$?(\w+)/u, next: (call, [name = ""]) => ({ ...retool(call, name) }) },
  { says: /Did you mean:? \$?(\w+)/u, next: (call, [name = ""]) => swapped(call, name) },
  { says: /The nearest is (\w+)\./u, next: (call, [name = ""]) => swapped(call, name) },
  {
    says: /The nearest is line \d+: (.+)$/mu,
    next: (call, [line = ""]) => {
      const [edit] = call.input.edits as readonly Readonly<Record<string, Json>>[];
      return { ...call, input: { ...call.input, edits: [{ ...edit, find: line }] } };
    },
  },
  {
    // Uses the expected type, if the text names one.
    says: /^([^]*)\$(\w+)\S* is not a variable\. There are (.+)\.$/mu,
    next: (call, [before = "", wrong = "", list = ""]) => {
      const [, type = "\\w+"] = /expected (array|string|object|number)/u.exec(before) ?? [];
      const [, right] = new RegExp(`\\$(\\w+) \\(${type}\\)`, "u").exec(list) ?? [];
      return right === undefined ? undefined : replaced(call, wrong, right);
    },
  },
  {
    says: /is not a variable\. Call list_variables\.$/mu,
    next: () => ({ tool: "list_variables", input: {} }),
  },
  {
    says: /There is no tool \S+ There are: (\w+)/u,
    next: (call, [tool = ""]) => ({ ...call, tool }),
  },
  {
    says: /^\S+ \/(\w+) leads nowhere\. The value has the keys (\w+)/u,
    next: (call, [wrong = "", key = ""]) => replaced(call, wrong, key),
  },
  {
    says: /leads nowhere\. (\S+) has length (\d+)/u,
    next: (call, [array = "", length = ""]) => {
      const text = JSON.stringify(call.input).replace(
        new RegExp(`${escaped(array)}(\\[\\d+\\]|\\.\\w+)`, "u"),
        () => `${array}[${Number(length) - 1}]`,
      );
      return { ...call, input: JSON.parse(text) as Call["input"] };
    },
  },
  {
    says: /There is no table (\w+)\. The newest variables are (\w+)/u,
    next: (call, [wrong = "", right = ""]) => replaced(call, wrong, right),
  },
  {
    says: /no such column: (\w+)[^]*Tables: \w+\((\w+)/u,
    next: (call, [wrong = "", right = ""]) => replaced(call, wrong, right),
  },
  // Values that fit.
  {
    says: /: (\w+)\.0: Invalid input: expected (\w+), received object[^]*\. \$\w+ is (\{.+\}\[\])\./u,
    next: (call, [key = "", type = "", shape = ""]) =>
      set(call, key, `${String(call.input[key])}[*].${columnOf(shape, type) ?? ""}`),
  },
  {
    says: /: ([\w.]+): Invalid option: expected one of "(\w+)"/u,
    next: (call, [key = "", option = ""]) => set(call, key, option),
  },
  {
    says: /: ([\w.]+): Too big: expected string to have <=(\d+) characters/u,
    next: (call, [key = "", length = ""]) => {
      const value = String(call.input[key]);
      return set(
        call,
        key,
        value.startsWith("$") ? `${value}[:${length}]` : value.slice(0, Number(length)),
      );
    },
  },
  {
    says: /: ([\w.]+): Too small: expected number to be >=(\d+)/u,
    next: (call, [key = "", least = ""]) => set(call, key, Number(least)),
  },
  {
    says: /Unrecognized key: "(\w+)"/u,
    next: (call, [key = ""]) => {
      const { [key]: _wrong, ...input } = call.input;
      return { ...call, input };
    },
  },
  {
    says: /: ([\w.]+): Invalid input: expected (\w+), received/u,
    next: (call, [key = "", type = ""]) => set(call, key, EXAMPLES[type] ?? null),
  },
  {
    says: /maxStatementChars is at most (\d+), this is \d+\./u,
    next: (call, [most = ""]) =>
      set(call, "sql", String(call.input.sql).trim().slice(0, Number(most))),
  },
  // A variable of another name.
  { says: /Write a variable of another name/u, next: (call) => set(call, "name", "another") },
  {
    says: /There is no (?:table|variable) (\w+)\. Did you mean (\w+)/u,
    next: (call, [wrong = "", right = ""]) => replaced(call, wrong, right),
  },
  { says: /The query is empty\./u, next: (call) => set(call, "query", "text") },
  // Syntax.
  {
    says: /is not the name of a variable\. Write letters, digits and _, the first not a digit/u,
    next: (call) => {
      const [name = ""] = /[A-Za-z_]\w*/u.exec(String(call.input.name)) ?? [];
      return set(call, "name", name);
    },
  },
  {
    says: /is not a place to save to\. Write (\$\w+)/u,
    next: (call, [place = ""]) => set(call, "_outputPath", place),
  },
  {
    says: /mixes \|\| and &&; use one of them/u,
    next: (call) => set(call, "_outputPath", String(call.input._outputPath).replaceAll("&&", "||")),
  },
  { says: /cannot be written here/u, next: (call) => set(call, "_outputPath", "$another") },
  { says: /use mode=(\w+)/u, next: (call, [mode = ""]) => set(call, "mode", mode) },
  {
    says: /append to the array with mode=append/u,
    next: (call) => set(oneLevelUp(call), "mode", "append"),
  },
  { says: /Write one level above it/u, next: oneLevelUp },
  { says: /replaced as a whole/u, next: oneLevelUp },
  { says: /undo restores a whole variable/u, next: oneLevelUp },
  {
    says: /with edit_variable: \[\{"op": "remove", "path": "\/…"\}\]/u,
    next: (call) =>
      patched(call, { op: "remove", path: `/${String(call.input.name).split(".")[1]}` }),
  },
  {
    says: /JSON Patch: \[\{op, path, value\}\]/u,
    next: (call) => patched(call, { op: "add", path: "/added", value: 1 }),
  },
  { says: /needs find and replace/u, next: (call) => withEdit(call, { replace: "" }) },
  {
    says: /edits is empty\. All edits of a call are \{find, replace, all\?\}/u,
    next: (call) => withEdit(call, { find: "one", replace: "1" }),
  },
  { says: /or set all/u, next: (call) => withEdit(call, { all: true }) },
  { says: /Read it/u, next: read },
  // SQL.
  {
    says: /ends with LIMIT and a number up to (\d+), before its closing parenthesis/u,
    next: (call, [most = ""]) =>
      set(call, "sql", String(call.input.sql).replace(/\)(?= SELECT)/u, ` LIMIT ${most})`)),
  },
  {
    says: /There is more than one statement/u,
    next: (call) => set(call, "sql", String(call.input.sql).split(";")[0] ?? ""),
  },
  {
    says: /begins with (\w+)\. (?:A query is one|Did you mean) (SELECT)/u,
    next: (call, [wrong = "", right = ""]) => {
      const [, rest = ""] = String(call.input.sql).split(`${wrong} `);
      return set(call, "sql", rest.startsWith("FROM") ? `${right} * ${rest}` : `${right} ${rest}`);
    },
  },
  { says: /Write one SELECT/u, next: (call) => set(call, "sql", "SELECT 1") },
  {
    says: /aggregate before joining/u,
    next: (call) => set(call, "sql", String(call.input.sql).replace(/,.*$/u, "")),
  },
  {
    says: /need a written format/u,
    next: (call) => set(call, "sql", String(call.input.sql).replace("*", "9")),
  },
  // Alternatives.
  {
    says: /It can be passed to tools as a reference|Pass it to a tool by reference/u,
    next: (call) => {
      const [name = ""] = /\b(?:key|bin)\b/u.exec(JSON.stringify(call.input)) ?? [];
      return { tool: "keep", input: { it: `$${name}` } };
    },
  },
  {
    says: /It came from (\w+)\((\{.*\})\): call that again/u,
    next: (_, [tool = "", input = ""]) => ({ tool, input: JSON.parse(input) as Call["input"] }),
  },
  { says: /Ask for less/u, next: (call) => set(call, "amount", 1) },
  {
    says: /; (?:call|try) again|Call it again|Make it first/u,
    next: (call) => ({ ...call, input: { ...call.input, again: true } }),
  },
  {
    says: /Do not try again|continue without|is secret and cannot be used here|Find out before you repeat it|cannot be deleted|was not allowed|cannot be changed/u,
    next: () => "goes on without it",
  },
];

/** Replaces the tool if the advice is a similar tool name. */
function retool(call: Call, name: string): Call {
  return nearest(name, [call.tool]).length > 0 ? { ...call, tool: name } : call;
}

function withEdit(call: Call, more: Readonly<Record<string, Json>>): Call {
  const edits = call.input.edits as readonly Readonly<Record<string, Json>>[];
  return { ...call, input: { ...call.input, edits: [{ ...edits[0], ...more }] } };
}
