import { isObject, outcomeOfCall, type Variable } from "./read-conversation.ts";
import { type DemoPrompt, type DemoStep, inert, refuse, say } from "./step.ts";
import {
  hasAll,
  isReading,
  subjectOf,
  type Table,
  tableNamed,
  tableOf,
  wordsOf,
} from "./tables.ts";

export const QUERY = "query_variables";

type Groups = Readonly<Record<string, string | undefined>>;
type Answer = (table: Table, groups: Groups, prompt: DemoPrompt) => DemoStep;

/** The questions about tables; the first whose table is found answers. */
const QUESTIONS: readonly (readonly [pattern: RegExp, answer: Answer])[] = [
  [
    /^how many (?:rows|records) (?:are|does|do|has|have)? ?(?:in )?(?<table>.+?)(?: have)?$/iu,
    countAll,
  ],
  [/^how many (?<table>\S+)(?: are there| do (?:i|we) have)?$/iu, countAll],
  [/^how many (?<table>.+?) (?:are|is|have|has) (?:(?:from|in|of) )?(?<value>.+)$/iu, countSome],
  [
    /^(?:what is |what's )?(?:the )?(?<figure>average|sum|total|highest|lowest) (?:of )?(?<column>.+?)(?: by (?<group>.+?))?(?: (?:in|of) (?<table>.+))?$/iu,
    compute,
  ],
];

/** By the word of the question: the function in SQL, and the word of the answer. */
const FIGURES: Readonly<Record<string, readonly [string, string]>> = {
  average: ["avg", "average"],
  sum: ["sum", "sum"],
  total: ["sum", "sum"],
  highest: ["max", "maximum"],
  lowest: ["min", "minimum"],
};

/** Answers a question about a table, or calls the tool that lists it. Undefined for any other question. */
export function askTable(question: string, prompt: DemoPrompt): DemoStep | undefined {
  if (!prompt.tools.some(({ name }) => name === QUERY)) return undefined;
  for (const [pattern, answer] of QUESTIONS) {
    const groups = pattern.exec(question)?.groups;
    if (groups === undefined) continue;
    const named = groups["table"] ?? "";
    const table = tableNamed(named, prompt);
    if (table?.isOpen === true && answer !== countAll) {
      const look = `SELECT * FROM ${quoted(table.name)} LIMIT 1`;
      return query(look, prompt, (_, record) => {
        const { columns = table.columns } = tableOf(record) ?? {};
        return answer({ ...table, columns }, groups, prompt);
      });
    }
    if (table !== undefined) return answer(table, groups, prompt);
    const call = { toolName: listFor(named, prompt), input: {} };
    if (call.toolName === "") continue;
    if (outcomeOfCall(call, prompt.conversation.thisTurn) === undefined) {
      return { kind: "calls", calls: [call] };
    }
  }
  return undefined;
}

/** The tool that lists what the text names, or an empty name. */
function listFor(text: string, { tools }: DemoPrompt): string {
  const words = new Set(wordsOf(text));
  const list = tools.find((tool) => {
    const subject = subjectOf(tool.name);
    const needsNothing = tool.type === "function" && !tool.inputSchema.required?.length;
    return needsNothing && isReading(tool.name) && subject.length > 0 && hasAll(words, subject);
  });
  return list?.name ?? "";
}

/** Runs a query, and says its result by reference. */
export function query(
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
function countSome(table: Table, groups: Groups, prompt: DemoPrompt): DemoStep {
  const { value = "" } = groups;
  const named = table.columns.find(({ name }) => startsWith(value, name));
  const text = named === undefined ? value : value.slice(named.name.length).trim();
  const isNumber = named?.type === "number" && Number.isFinite(Number(text));
  const columns =
    named === undefined ? table.columns.filter(({ type }) => type === "string") : [named];
  if (columns.length === 0) return refuse(`I do not know what “${inert(text)}” is`);
  const counted = columns.map(({ name }, index) => {
    const values = valuesFor(text, name);
    const literals = values.map((one) => `'${one.replaceAll("'", "''")}'`).join(", ");
    const condition = isNumber ? `= ${Number(text)}` : `COLLATE NOCASE IN (${literals})`;
    const key = /^[a-z]\w*$/iu.test(name) ? name : `column_${index + 1}`;
    const sql = `count(*) FILTER (WHERE ${quoted(name)} ${condition}) AS ${quoted(key)}`;
    return { name, key, sql, said: inert(`${name} ${values.join(" or ")}`) };
  });
  const sql = `SELECT ${counted.map((one) => one.sql).join(", ")} FROM ${quoted(table.name)}`;
  return query(sql, prompt, (result, { value: rows }) => {
    const [counts] = Array.isArray(rows) ? rows : [];
    const found = counted.filter(({ key }) => isObject(counts) && Number(counts[key]) > 0);
    const [only] = named === undefined ? found : counted;
    const names = (all: readonly { name: string }[]) =>
      all.map(({ name }) => inert(name)).join(", ");
    if (only === undefined) {
      const none = `I found no record of ${table.name} in which “${inert(text)}” is the value of a column`;
      return refuse(`${none} (${names(counted)})`);
    }
    if (found.length > 1) {
      return refuse(`“${inert(text)}” is in several columns (${names(found)}): name the column`);
    }
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
    const names = table.columns.map(({ name }) => inert(name)).slice(0, 12);
    return refuse(
      `I see no such column of numbers in ${table.name}. Its columns: ${names.join(", ")}`,
    );
  }
  const [sqlFunction, word] = FIGURES[figure.toLowerCase()] ?? ["sum", "sum"];
  const figures = `${sqlFunction}(${quoted(of.name)}) AS "figure", count(${quoted(of.name)}) AS "rows" FROM ${quoted(table.name)}`;
  const said = `The ${word} of ${inert(of.name)}`;
  if (by === undefined) {
    return query(`SELECT ${figures}`, prompt, (result) =>
      say(`${said} is ${result}[0].figure, over ${result}[0].rows records of ${table.name}.`),
    );
  }
  const name = quoted(by.name);
  return query(
    `SELECT ${name}, ${figures} GROUP BY ${name} ORDER BY "figure" DESC`,
    prompt,
    (result) => say(`${said} by ${inert(by.name)}, of the records of ${table.name}:\n\n${result}`),
  );
}

function startsWith(text: string, name: string): boolean {
  return text.toLowerCase().startsWith(`${name.toLowerCase()} `);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The value, and for a country its code or its English name. */
function valuesFor(value: string, column: string): readonly string[] {
  if (!wordsOf(column).includes("country")) return [value];
  const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
  const nameOf = (code: string) => {
    // ICU still has codes of countries that have another one now.
    const isCurrent = new Intl.Locale(`und-${code}`).region === code;
    return isCurrent ? names.of(code) : undefined;
  };
  if (/^[a-z]{2}$/iu.test(value)) return [value, nameOf(value.toUpperCase()) ?? value];
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const code = codes.find((one) => nameOf(one)?.toLowerCase() === value.toLowerCase());
  return code === undefined ? [value] : [value, code];
}
