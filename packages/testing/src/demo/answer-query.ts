import { type Outcome, type Variable, isObject, outcomeOfCall } from "./read-conversation.ts";
import { sayColumns } from "./introduce.ts";
import { type Query, readQuery } from "./read-query.ts";
import { type DemoPrompt, type DemoStep, inert, refuse, say } from "./step.ts";
import { jsonIn } from "../../../../src/value/json.ts";
import { type Column, columnOf, PLAIN, type Table, tableOf } from "./tables.ts";
import { isFiller, isPreposition, recordsFor, type Token } from "./words.ts";
import { resultNames, sayFilter, sqlOf, sqlToFind, textColumns } from "./write-query.ts";

const QUERY = "query_variables";

/** A step, or what a query has returned. */
type Asked = { readonly step: DemoStep } | { readonly result: Variable };

/** Answers a question about a table: what it is a question of, then the query, then the sentence. */
export function answerQuery(tokens: readonly Token[], table: Table, prompt: DemoPrompt): DemoStep {
  const seen = withAllColumns(table, prompt);
  if ("step" in seen) return seen.step;
  if (asksForColumns(tokens, table)) return say(describe(seen.table));
  const reading = readQuery(tokens, seen.table);
  if ("problem" in reading) return refuse(`${reading.problem}. ${describe(seen.table)}`);
  const placed = place(reading, seen.table, prompt);
  if ("step" in placed) return placed.step;
  const { query } = placed;
  if (query.operation === "list" && query.filters.length === 0) return say(showAll(seen.table));
  const asked = ask(sqlOf(query, seen.table), prompt);
  return "step" in asked ? asked.step : say(answer(query, seen.table, asked.result));
}

const COUNTING = new Set(["how", "many"]);

/** "What columns does my CSV have?" */
function asksForColumns(tokens: readonly Token[], { words, columns }: Table): boolean {
  const asked = new Set(["column", "field"]);
  if (columns.some((column) => column.words.some((word) => asked.has(word)))) return false;
  const known = (token: Token) =>
    isFiller(token) || isPreposition(token) || PLAIN.has(token.stem) || words.includes(token.stem);
  const others = tokens.filter((token) => !known(token));
  const isAsked = ({ stem }: Token) => asked.has(stem);
  return others.some(isAsked) && others.every((one) => isAsked(one) || COUNTING.has(one.word));
}

/** True if a question can be asked about tables. */
export function canQuery({ tools }: DemoPrompt): boolean {
  return tools.some(({ name }) => name === QUERY);
}

function ask(sql: string, { conversation }: DemoPrompt, more: readonly Outcome[] = []): Asked {
  const input = { sql };
  const outcomes = [...conversation.thisTurn, ...more];
  const outcome = outcomeOfCall({ toolName: QUERY, input }, outcomes);
  if (outcome === undefined)
    return { step: { kind: "calls", calls: [{ toolName: QUERY, input }] } };
  const { result } = outcome;
  if (result.kind === "variable") return { result };
  return { step: say(`I could not use ${QUERY}: ${inert(result.message)}`) };
}

/** Looks at a record if the prompt does not show all columns. */
function withAllColumns(table: Table, prompt: DemoPrompt): { table: Table } | { step: DemoStep } {
  if (!table.isOpen) return { table };
  // An earlier look has the same columns; if it has not, the query fails.
  const looked = prompt.conversation.earlier.filter(({ result }) => result.kind === "variable");
  const asked = ask(`SELECT * FROM "${table.name}" LIMIT 1`, prompt, looked);
  if ("step" in asked) return asked;
  const shown = tableOf(asked.result);
  const record = shown?.isOpen === false ? shown : columnsOf(asked.result, { prompt, looked });
  if ("step" in record) return record;
  const known = new Map(table.columns.map((column) => [column.name, column]));
  const columns = record.columns.map((column) => known.get(column.name) ?? column);
  return { table: { ...table, columns, isOpen: record.isOpen } };
}

/** A list of names and types is shown in full up to this number, if the names are not long. */
const MAX_SHOWN_COLUMNS = 40;
const MAX_COLUMNS = 200;

/** Reads the columns of a record that is too large to be shown, a part at a time. */
function columnsOf(
  { name }: Variable,
  { prompt, looked }: { readonly prompt: DemoPrompt; readonly looked: readonly Outcome[] },
): Pick<Table, "columns" | "isOpen"> | { step: DemoStep } {
  const columns: Column[] = [];
  let size = MAX_SHOWN_COLUMNS;
  while (size > 1 && columns.length < MAX_COLUMNS) {
    const part = `SELECT * FROM $${name}[0] LIMIT ${size} OFFSET ${columns.length}`;
    const pair = `"key" || ':' || typeof("value")`;
    const asked = ask(
      `SELECT json_group_array(${pair}) AS "columns" FROM (${part})`,
      prompt,
      looked,
    );
    if ("step" in asked) return asked;
    const read = columnsIn(asked.result);
    if (read === undefined) size = Math.floor(size / 2);
    else {
      columns.push(...read);
      if (read.length < size) return { columns, isOpen: false };
    }
  }
  return { columns, isOpen: true };
}

/** Undefined if the prompt does not show them. */
function columnsIn({ value }: Variable): readonly Column[] | undefined {
  const [first] = Array.isArray(value) ? value : [];
  if (!isObject(first) || typeof first["columns"] !== "string") return undefined;
  const pairs = jsonIn(first["columns"]);
  if (!Array.isArray(pairs)) return undefined;
  return pairs.map((pair) => {
    const [, name = "", type = ""] = /^([^]*):(\w+)$/u.exec(String(pair)) ?? [];
    return columnOf(name, type);
  });
}

/** Finds the columns of the values that the question names without one. */
function place(
  query: Query,
  table: Table,
  prompt: DemoPrompt,
): { query: Query } | { step: DemoStep } {
  const filters = [...query.filters];
  const columns = textColumns(table);
  const names = columns.map(({ name }) => inert(name)).join(", ");
  for (const { text: value, before } of query.values) {
    const quoted = `“${inert(value)}”`;
    if (columns.length === 0)
      return { step: refuse(`I do not know what ${quoted} is. ${describe(table)}`) };
    const asked = ask(sqlToFind(value, table), prompt);
    if ("step" in asked) return asked;
    const counts = Array.isArray(asked.result.value) ? asked.result.value[0] : undefined;
    if (!isObject(counts)) {
      return {
        step: refuse(
          `I cannot tell in which column ${quoted} is: name the column. ${describe(table)}`,
        ),
      };
    }
    // "from Oslo" is not in `to_city` where there is a `from_city`.
    const meant = columns.filter(({ words }) => before === "from" && words.includes(before));
    const found = (meant.length > 0 ? meant : columns).filter(
      ({ name }) => Number(counts[name]) > 0,
    );
    const [column] = found;
    if (column === undefined) {
      const none = `I found no record of ${table.name} in which ${quoted} is the value of a column that may have texts (${names}), so I cannot tell what it means here`;
      return { step: refuse(`${none}. ${describe(table)}`) };
    }
    if (found.length > 1 || filters.some((filter) => filter.column.name === column.name)) {
      const both = found.map(({ name }) => inert(name)).join(" and ");
      return {
        step: refuse(`${quoted} may be meant of several columns (${both}): name the column`),
      };
    }
    filters.push({ column, value });
  }
  return { query: { ...query, filters, values: [] } };
}

function answer(query: Query, table: Table, { name, value, count }: Variable): string {
  const { operation, column, group, filters } = query;
  const properties = filters.map(said).join(" and ");
  const where = filters.length === 0 ? "" : ` with ${properties}`;
  const all = table.count === undefined ? "" : ` of ${table.count}`;
  const records = `records of ${table.name}${where}`;
  if (operation === "list") {
    if (count === 0) return `There are no ${records}. I compared whole values.`;
    const few = count !== undefined && count <= 10;
    const kept = `kept as ${name}${few ? "" : ". The first ten"}:\n\n$${name}[:10]`;
    if (count === undefined) return `These are the ${records}, ${kept}`;
    return `${count}${all} ${recordsFor(table.count ?? count)} of ${table.name} ${have(count)} ${properties}, ${kept}`;
  }
  const [first] = Array.isArray(value) ? value : [];
  const names = resultNames(query);
  const word = FIGURES[operation];
  const of = column === undefined ? "" : ` of ${inert(column.name)}`;
  if (group !== undefined) {
    if (count === 0) return `There are no ${records}. I compared whole values.`;
    return `The ${word}${of} by ${inert(group.name)}, of the ${records}:\n\n$${name}`;
  }
  const rows = isObject(first) ? Number(first[names.rows]) : Number.NaN;
  const having = column === undefined ? "" : ` that have ${inert(column.name)}`;
  if (rows === 0)
    return `There are no ${records}${having}: $${name}[0].${names.rows}${all}. I compared whole values.`;
  if (operation === "count") {
    const figure = `$${name}[0].${names.rows}`;
    if (filters.length === 0) return `${table.name} has ${figure} ${recordsFor(rows)}.`;
    return `${figure}${all} ${recordsFor(table.count ?? rows)} of ${table.name} ${have(rows)} ${properties}.`;
  }
  return `The ${word}${of} is $${name}[0].${names.figure}, over $${name}[0].${names.rows} ${records}${having}.`;
}

function have(count: number): string {
  return count === 1 ? "has" : "have";
}

const FIGURES = {
  count: "number",
  sum: "sum",
  average: "average",
  max: "maximum",
  min: "minimum",
} as const;

function said(filter: Query["filters"][number]): string {
  return inert(sayFilter(filter));
}

function showAll({ name, count }: Table): string {
  const size = count === undefined ? "" : ` It has ${count} records.`;
  return `This is ${name}.${size} The first ten:\n\n$${name}[:10]`;
}

function describe(table: Table): string {
  return `The columns of ${table.name}: ${sayColumns(table)}.`;
}
