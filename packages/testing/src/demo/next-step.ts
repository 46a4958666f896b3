import type { JSONObject, JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { ownTools } from "../../../../src/internal-tool.ts";
import { json, parsedShapes } from "../../../../src/internal.ts";
import {
  type DemoPrompt,
  type DemoScript,
  type DemoStep,
  inert,
  isObject,
  type Outcome,
  outcomeOfCall,
  refuse,
  say,
  type Variable,
} from "./read-conversation.ts";

const QUERY = "query_variables";
const MAX_CHARS = 500;
/** A text with such a word is no order to change something. */
const CONDITIONAL = /\b(?:not|never|if|unless|except|without|or)\b|n['’]t\b/iu;
/** What a person says before the order. */
const POLITE = /^(?:(?:hello|hi|please|can you|could you|would you)\b|[,!\s])+/iu;

/** Scripts first, then SQL as written, the patterns, the tools by their names, and a refusal. */
export function nextStep(prompt: DemoPrompt, scripts: readonly DemoScript[]): DemoStep {
  for (const script of scripts) {
    const step = script.step(prompt);
    if (step !== undefined) return step;
  }
  const { question, variables } = prompt.conversation;
  if (question.length > MAX_CHARS) return refuse("That is too long for a demo model");
  const text = question.replace(POLITE, "").replace(/(?:,? please|thanks|[?!.\s])+$/iu, "");
  if (/^(?:select|with)\s/iu.test(text) && prompt.tools.some(({ name }) => name === QUERY)) {
    return query(text, prompt, (result) => say(`Here is the result:\n\n${result}`));
  }
  const { name, type } = variables.get(/^show (?:me )?\$?(\w+)$/iu.exec(text)?.[1] ?? "") ?? {};
  if (type === "array") return say(`The first ten of ${name}:\n\n$${name}[:10]`);
  if (name !== undefined) return say(`This is ${name}:\n\n$${name}`);
  return askTable(text, prompt) ?? callTool(text, prompt) ?? refuse("");
}

/** Says what this model is, why it does not answer, and three things to try. */
export function refusal(why: string, prompt: DemoPrompt, scripts: readonly DemoScript[]): string {
  const examples: Record<string, string> = Object.assign({}, ...scripts.map((one) => one.examples));
  const tools = prompt.tools.filter(({ name }) => !ownTools.runtimeToolNames.includes(name));
  const blank = (name: string) => `(${wordsOf(name).join(" ")})`;
  const table = tablesIn(prompt).findLast(({ words }) => words.length > 0)?.name;
  const suggestions = [
    ...(table === undefined ? [] : [`How many rows are in ${table}?`]),
    ...tools.flatMap(({ name }) => examples[name] ?? []),
    ...tools.map((tool) => [...wordsOf(tool.name), ...requiredBy(tool).map(blank)].join(" ")),
    ...(table === undefined ? [] : [`SELECT * FROM ${table} LIMIT 5`]),
  ];
  const listed = [...new Set(suggestions)].slice(0, 3);
  const advice =
    listed.length === 0
      ? "No tool is offered, so there is nothing to try."
      : `You can try:\n\n${listed.map((one) => `- ${one}`).join("\n")}`;
  return (
    "I am the demo model of Byref: I follow a few rules, in place of a language model. The tools, the variables and " +
    `the references are real. ${why && `${why}. `}${advice}\n\n` +
    "A language model is one setting away: `MODEL=` in `.dev.vars`, or in the environment."
  );
}

/** Calls the tool whose name shares most words with the text, or says its result. */
function callTool(text: string, prompt: DemoPrompt): DemoStep | undefined {
  const calls = prompt.tools.flatMap((tool) =>
    tool.type === "function" ? (callOf(tool, text, prompt) ?? []) : [],
  );
  const [call] = calls.toSorted(
    (a, b) => b.shared - a.shared || a.missing.length - b.missing.length || b.filled - a.filled,
  );
  if (call === undefined) return undefined;
  const { tool, input, missing } = call;
  const needs = missing.join(" and ");
  if (needs !== "") return refuse(`${tool.name} needs ${needs}, which I do not find in your text`);
  const made = { toolName: tool.name, input };
  const outcome = outcomeOfCall(made, prompt.conversation.thisTurn);
  if (outcome === undefined) return { kind: "calls", calls: [made] };
  return say(sayOutcome(outcome, input));
}

/** A call, with the required parameters that are not in the text, and how many words of the name the text has. */
function callOf(tool: LanguageModelV4FunctionTool, text: string, prompt: DemoPrompt) {
  const words = wordsOf(text);
  const [first = ""] = wordsOf(tool.name);
  const shared = subjectOf(tool.name).filter((word) => words.includes(word)).length;
  // A tool that may change something runs if the text begins with its verb.
  const isOrder = words[0] === first && !CONDITIONAL.test(text);
  const isOurs = ownTools.runtimeToolNames.includes(tool.name);
  if (isOurs || shared === 0 || !(isReading(tool.name) || isOrder)) return undefined;
  const required = requiredBy(tool);
  const values = required.map((name) => [name, valueOf(name, tool, { text, prompt })] as const);
  const input = json.compact(Object.fromEntries(values)) as JSONObject;
  const missing = required.filter((name) => !(name in input));
  return { tool, input, missing, shared, filled: required.length - missing.length };
}

function valueOf(
  name: string,
  { name: toolName, inputSchema }: LanguageModelV4FunctionTool,
  { text, prompt }: { readonly text: string; readonly prompt: DemoPrompt },
): JSONValue | undefined {
  const schema = JSON.stringify(inputSchema.properties?.[name] ?? {});
  // Each schema also accepts a text, for a reference.
  const types = Array.from(schema.matchAll(/"type":"(\w+)"/gu), ([, type = ""]) => type);
  const type = types.find((one) => one !== "string") ?? "string";
  if (type === "array") {
    const { thisTurn } = prompt.conversation;
    const made = new Set(thisTurn.map(({ result }) => "name" in result && result.name));
    const table = tablesIn(prompt).findLast(
      (one) => !made.has(one.name) && hasAll(one.words, wordsOf(name)),
    );
    return table && `$${table.name}`;
  }
  const number = /(?<![\w.-])\d+(?:\.\d+)?(?![\w-])/u.exec(text)?.[0];
  if (type === "number" || type === "integer") return number && Number(number);
  if (type !== "string") return undefined;
  const own = wordsAfter(wordsOf(name).join("[ _]"), text);
  if (own !== undefined) return own;
  // A text without its parameter's name is clear only if one parameter is required.
  if (inputSchema.required?.length !== 1) return undefined;
  return (
    /["“]([^"”]+)["”]/u.exec(text)?.[1] ??
    /[\w.+-]*(?:\d|@)[\w.@-]*/u.exec(text)?.[0] ??
    wordsAfter("in|for|of|about", text) ??
    wordsAfter(subjectOf(toolName).at(-1) ?? "", text)
  );
}

/** The words after one of these, up to the next preposition. */
function wordsAfter(words: string, text: string): string | undefined {
  const pattern = `\\b(?:${words})s? (?!(?:in|for|of|from|to|with) )([^,;]+?)(?= (?:in|for|of|from|to|with|and) |$)`;
  return new RegExp(pattern, "iu").exec(text)?.[1]?.replaceAll(/^["“]|["”]$/gu, "");
}

function sayOutcome({ toolName, result }: Outcome, input: JSONObject): string {
  const given = Object.entries(input).map(([name, value]) => `${name} ${inert(String(value))}`);
  const call = given.length === 0 ? toolName : `${toolName} with ${given.join(", ")}`;
  if (result.kind === "failure") return `I could not use ${call}: ${inert(result.message)}`;
  const { name, type, count } = result;
  if (type !== "array" || count === undefined) return `Here is the result of ${call}:\n\n$${name}`;
  if (count === 0) return `${call} returned no records.`;
  const part = count > 10 ? `, kept as ${name}. The first ten:\n\n$${name}[:10]` : `:\n\n$${name}`;
  return `${call} returned ${count} ${count === 1 ? "record" : "records"}${part}`;
}

type Groups = Readonly<Record<string, string | undefined>>;
type Answer = (table: Table, groups: Groups, prompt: DemoPrompt) => DemoStep;

/** The questions about tables; the first whose table is found answers. */
const QUESTIONS: readonly (readonly [pattern: RegExp, answer: Answer])[] = [
  [
    /^how many (?:(?:rows|records) (?:(?:are|does|do|has|have) )?(?:in )?(?<table>.+?)(?: have)?|(?<list>\S+)(?: are there| do (?:i|we) have)?)$/iu,
    countAll,
  ],
  [/^how many (?<table>.+?) (?:are|is|have|has) (?:(?:from|in|of) )?(?<value>.+)$/iu, countSome],
  [
    /^(?:what is |what's )?(?:the )?(?<figure>average|sum|total|highest|lowest) (?:of )?(?<column>.+?)(?: by (?<group>.+?))?(?: (?:in|of) (?<table>.+))?$/iu,
    compute,
  ],
];

/** The functions in SQL, by the word of the question. */
const FIGURES = { average: "avg", sum: "sum", total: "sum", highest: "max", lowest: "min" };
const SAID: Readonly<Record<string, string>> = { avg: "average", max: "maximum", min: "minimum" };

/** Answers a question about a table, or calls the tool that lists it. Undefined for any other question. */
function askTable(question: string, prompt: DemoPrompt): DemoStep | undefined {
  if (!prompt.tools.some(({ name }) => name === QUERY)) return undefined;
  for (const [pattern, answer] of QUESTIONS) {
    const groups = pattern.exec(question)?.groups;
    if (groups === undefined) continue;
    const named = groups["table"] ?? groups["list"] ?? "";
    const table = tableNamed(named, prompt);
    if (table?.isOpen === true && answer !== countAll) {
      const look = `SELECT * FROM ${quoted(table.name)} LIMIT 1`;
      return query(look, prompt, (_, record) => {
        const { columns = table.columns } = tableOf(record) ?? {};
        return answer({ ...table, columns }, groups, prompt);
      });
    }
    if (table !== undefined) return answer(table, groups, prompt);
    const words = wordsOf(named);
    const list = prompt.tools.find((tool) => {
      const subject = subjectOf(tool.name);
      const isNamed = subject.length > 0 && hasAll(words, subject);
      return isNamed && isReading(tool.name) && requiredBy(tool).length === 0;
    });
    const call = { toolName: list?.name ?? "", input: {} };
    const isMade = outcomeOfCall(call, prompt.conversation.thisTurn) !== undefined;
    if (list !== undefined && !isMade) return { kind: "calls", calls: [call] };
  }
  return undefined;
}

/** Runs a query, and says its result by reference. */
function query(
  sql: string,
  { conversation }: DemoPrompt,
  answer: (reference: string, result: Variable) => DemoStep,
): DemoStep {
  const call = { toolName: QUERY, input: { sql } };
  const outcome = outcomeOfCall(call, conversation.thisTurn);
  if (outcome === undefined) return { kind: "calls", calls: [call] };
  const { result } = outcome;
  return result.kind === "variable"
    ? answer(`$${result.name}`, result)
    : say(`I could not use ${QUERY}: ${inert(result.message)}`);
}

function countAll({ name }: Table, _: Groups, prompt: DemoPrompt): DemoStep {
  return query(`SELECT count(*) AS "rows" FROM ${quoted(name)}`, prompt, (result) =>
    say(`${name} has ${result}[0].rows records.`),
  );
}

/** Counts the records that have a value, in each column that may have it or in the one before the value. */
function countSome(table: Table, { value = "" }: Groups, prompt: DemoPrompt): DemoStep {
  const named = table.columns.find(({ name }) =>
    value.toLowerCase().startsWith(`${name.toLowerCase()} `),
  );
  const text = value.slice(named === undefined ? 0 : named.name.length).trim();
  const isNumber = named?.type === "number" && Number.isFinite(Number(text));
  const columns =
    named === undefined ? table.columns.filter(({ type }) => type === "string") : [named];
  if (columns.length === 0) return refuse(`I do not know what “${inert(text)}” is`);
  const literal = `'${text.replaceAll("'", "''")}'`;
  const counted = columns.map(({ name }, index) => {
    const condition = isNumber ? `= ${Number(text)}` : `= ${literal} COLLATE NOCASE`;
    const key = /^[a-z]\w*$/iu.test(name) ? name : `column_${index + 1}`;
    const sql = `count(*) FILTER (WHERE ${quoted(name)} ${condition}) AS ${quoted(key)}`;
    return { name, key, sql, said: inert(`${name} ${text}`) };
  });
  const sql = `SELECT ${counted.map((one) => one.sql).join(", ")} FROM ${quoted(table.name)}`;
  return query(sql, prompt, (result, { value: rows }) => {
    const [counts] = Array.isArray(rows) ? rows : [];
    const found = counted.filter(({ key }) => isObject(counts) && Number(counts[key]) > 0);
    const [only] = named === undefined ? found : counted;
    if (only === undefined) {
      const none = `I found no record of ${table.name} in which “${inert(text)}” is the value of a column`;
      return refuse(`${none} (${namesOf(counted)})`);
    }
    if (found.length > 1)
      return refuse(`“${inert(text)}” is in several columns (${namesOf(found)}): name the column`);
    const all = table.count === undefined ? "" : ` of ${table.count}`;
    return say(`${result}[0].${only.key}${all} records of ${table.name} have ${only.said}.`);
  });
}

function compute(table: Table, groups: Groups, prompt: DemoPrompt): DemoStep {
  const { figure = "", column = "", group } = groups;
  const columnOf = (text: string) =>
    table.columns.find(({ name }) => wordsOf(name).join(" ") === wordsOf(text).join(" "));
  const of = columnOf(column);
  const by = group === undefined ? undefined : columnOf(group);
  if (of === undefined || of.type === "string" || (group !== undefined && by === undefined)) {
    const names = namesOf(table.columns.slice(0, 12));
    return refuse(`I see no such column of numbers in ${table.name}. Its columns: ${names}`);
  }
  const sqlFunction = FIGURES[figure.toLowerCase() as keyof typeof FIGURES];
  const figures = `${sqlFunction}(${quoted(of.name)}) AS "figure", count(${quoted(of.name)}) AS "rows" FROM ${quoted(table.name)}`;
  const said = `The ${SAID[sqlFunction] ?? "sum"} of ${inert(of.name)}`;
  if (by === undefined) {
    return query(`SELECT ${figures}`, prompt, (result) =>
      say(`${said} is ${result}[0].figure, over ${result}[0].rows records of ${table.name}.`),
    );
  }
  const name = quoted(by.name);
  const grouped = `SELECT ${name}, ${figures} GROUP BY ${name} ORDER BY "figure" DESC`;
  return query(grouped, prompt, (result) =>
    say(`${said} by ${inert(by.name)}, of the records of ${table.name}:\n\n${result}`),
  );
}

function namesOf(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => inert(name)).join(", ");
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A list of records, as far as the prompt shows it. */
interface Table {
  readonly name: string;
  /** `other` for what is not always a text or a number. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** True if there may be columns that the prompt does not show. */
  readonly isOpen: boolean;
  readonly count: number | undefined;
  /** The words by which a question means it: `list_orders_1` is "order". */
  readonly words: readonly string[];
}

/** Verbs of tools that only read. */
const READING =
  /^(?:get|list|show|find|search|fetch|read|lookup|look|query|view|load|check|describe)$/;
/** Words for any table, and words without a meaning of their own. */
const PLAIN = /^(?:row|record|table|csv|json|file|data|my|our|the|all|in|it|there|of|by|for)$/;

/** The words of a name or a text, in lower case and without plurals: `openOrders_2` is open, order. */
function wordsOf(text: string): readonly string[] {
  const apart = text.replaceAll(/(\p{Ll})(?=\p{Lu})/gu, "$1 ");
  return Array.from(apart.matchAll(/\p{L}[\p{L}\p{M}]*/gu), ([word]) =>
    word.toLowerCase().replace(/(?<=..[^su])s$/u, ""),
  );
}

/** The words of a name that say what it is about. Empty for a name of plain words. */
function subjectOf(name: string): readonly string[] {
  return wordsOf(name).filter(
    (word, index) => !PLAIN.test(word) && !(index === 0 && READING.test(word)),
  );
}

/** True if a tool changes nothing, judging by the verb in its name. */
function isReading(toolName: string): boolean {
  return READING.test(wordsOf(toolName)[0] ?? "");
}

function requiredBy(tool: DemoPrompt["tools"][number]): readonly string[] {
  return tool.type === "function" ? (tool.inputSchema.required ?? []) : [];
}

/** The tables that may hold all records of what they are named for, oldest first. */
function tablesIn({ conversation, tools }: DemoPrompt): readonly Table[] {
  return [...conversation.variables.values()].flatMap((variable) => {
    const { name, input } = variable;
    // The result of a call with an input, or of a call that is no longer shown, may be a part.
    const isMade = input === undefined && tools.some((tool) => name.startsWith(tool.name));
    const isWhole = !isMade && JSON.stringify(input ?? {}) === "{}";
    return isWhole ? (tableOf(variable) ?? []) : [];
  });
}

/** Returns the table that a text names, or the only one for "my CSV" and the like. */
function tableNamed(text: string, prompt: DemoPrompt): Table | undefined {
  const exact = prompt.conversation.variables.get(text.replace(/^.*\$/u, ""));
  if (exact !== undefined) return tableOf(exact);
  const tables = tablesIn(prompt);
  const words = subjectOf(text);
  if (words.length === 0) return tables.length === 1 ? tables[0] : undefined;
  return tables.findLast((table) => table.words.length > 0 && hasAll(words, table.words));
}

function hasAll(words: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((word) => words.includes(word));
}

/** The table in a variable. Undefined for what is no list of records. */
function tableOf({ name, type, count, shape }: Variable): Table | undefined {
  if (type !== "array" || name === "history") return undefined;
  // A list of variables cuts long shapes, which then cannot be read.
  const cut = shape.startsWith("{") ? { columns: [], isOpen: true } : undefined;
  const read = columnsOf(parsedShapes.parseShape(shape)) ?? cut;
  return read && { name, ...read, count, words: subjectOf(name) };
}

function columnsOf([list, ...others]: parsedShapes.Shape):
  | Pick<Table, "columns" | "isOpen">
  | undefined {
  if (typeof list !== "object" || !("elements" in list) || others.length > 0) return undefined;
  const [record, ...more] = list.elements;
  if (typeof record !== "object" || !("keys" in record) || more.length > 0) return undefined;
  const columns = record.keys.map(({ key, shape }) => {
    const [type, ...types] = shape.filter((kind) => kind !== "null");
    const isPlain = (type === "string" || type === "number") && types.length === 0;
    return { name: key, type: isPlain ? type : "other" };
  });
  return { columns, isOpen: record.isOpen };
}
