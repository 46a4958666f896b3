import { parseShape, type Shape } from "../../../../src/internal.ts";
import type { Variable } from "./read-conversation.ts";
import type { DemoPrompt } from "./step.ts";

/** A list of records, as far as the prompt shows it. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** True if there may be columns that the prompt does not show. */
  readonly isOpen: boolean;
  /** Records. Undefined if the prompt does not say it. */
  readonly count: number | undefined;
  /** The words by which a question means it: `list_orders_1` is "order". */
  readonly words: readonly string[];
}

interface Column {
  readonly name: string;
  /** `other` for what is not always a text or a number. */
  readonly type: "string" | "number" | "other";
}

/** Verbs of tools that only read. */
const READING: ReadonlySet<string> = new Set(
  "get list show find search fetch read lookup look query view load check describe".split(" "),
);
/** Words for any table, and words without a meaning of their own. */
const PLAIN: ReadonlySet<string> = new Set(
  "row record table csv json file data my our the all in it there of by for".split(" "),
);
const MAX_CUTS = 30;

/** The words of a name or a text, in lower case and without plurals: `openOrders_2` is open, order. */
export function wordsOf(text: string): readonly string[] {
  const apart = text.replaceAll(/(\p{Ll})(?=\p{Lu})/gu, "$1 ");
  return Array.from(apart.matchAll(/\p{L}[\p{L}\p{M}]*/gu), ([word]) =>
    word.toLowerCase().replace(/(?<=..[^su])s$/u, ""),
  );
}

/** The words of a name that say what it is about. Empty for a name of plain words. */
export function subjectOf(name: string): readonly string[] {
  return wordsOf(name).filter(
    (word, index) => !PLAIN.has(word) && !(index === 0 && READING.has(word)),
  );
}

/** True if a tool changes nothing, judging by the verb in its name. */
export function isReading(toolName: string): boolean {
  return READING.has(wordsOf(toolName)[0] ?? "");
}

/** The tables that may hold all records of what they are named for, oldest first. */
export function tablesIn({ conversation, tools }: DemoPrompt): readonly Table[] {
  return [...conversation.variables.values()].flatMap((variable) => {
    const { name, input } = variable;
    // The result of a call with an input, or of a call that is no longer shown, may be a part.
    const isWhole =
      input === undefined
        ? !tools.some((tool) => name.startsWith(tool.name))
        : JSON.stringify(input) === "{}";
    return isWhole ? (tableOf(variable) ?? []) : [];
  });
}

/** Returns the table that a text names, or the only one for "my CSV" and the like. */
export function tableNamed(text: string, prompt: DemoPrompt): Table | undefined {
  const exact = prompt.conversation.variables.get(text.replace(/^.*\$/u, ""));
  if (exact !== undefined) return tableOf(exact);
  const tables = tablesIn(prompt);
  const words = new Set(subjectOf(text));
  if (words.size === 0) return tables.length === 1 ? tables[0] : undefined;
  return tables.findLast((table) => table.words.length > 0 && hasAll(words, table.words));
}

export function hasAll(words: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return wanted.every((word) => words.has(word));
}

/** The table in a variable. Undefined for what is no list of records. */
export function tableOf({ name, type, count, shape }: Variable): Table | undefined {
  const read = type === "array" && name !== "history" ? columnsIn(shape) : undefined;
  return read && { name, ...read, count, words: subjectOf(name) };
}

function columnsIn(shape: string): Pick<Table, "columns" | "isOpen"> | undefined {
  const whole = columnsOf(parseShape(shape));
  if (whole !== undefined || !shape.startsWith("{")) return whole;
  // A list of variables cuts long shapes: the columns before the cut are known.
  let end = shape.lastIndexOf(", ");
  for (let tries = 0; end > 0 && tries < MAX_CUTS; tries++) {
    const read = columnsOf(parseShape(`${shape.slice(0, end)}, …}[]`));
    if (read !== undefined) return read;
    end = shape.lastIndexOf(", ", end - 1);
  }
  return { columns: [], isOpen: true };
}

function columnsOf([list, ...others]: Shape): Pick<Table, "columns" | "isOpen"> | undefined {
  if (typeof list !== "object" || !("elements" in list) || others.length > 0) return undefined;
  const [record, ...more] = list.elements;
  if (typeof record !== "object" || !("keys" in record) || more.length > 0) return undefined;
  const columns = record.keys.map(({ key, shape }): Column => {
    const [type, ...types] = shape.filter((kind) => kind !== "null");
    const isPlain = (type === "string" || type === "number") && types.length === 0;
    return { name: key, type: isPlain ? type : "other" };
  });
  return { columns, isOpen: record.isOpen };
}
