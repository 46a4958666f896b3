import { parseShape, type Shape } from "../../../../src/value/parse-shape.ts";
import type { Variable } from "./read-conversation.ts";
import { wordsOfName } from "./words.ts";

/** A list of records, as far as the prompt shows it. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** True if there may be columns that the prompt does not show. */
  readonly isOpen: boolean;
  /** Records. Undefined if the prompt does not say it. */
  readonly count: number | undefined;
  /** The words by which a question means it: `list_orders_1` is "orders". */
  readonly words: readonly string[];
  /** True if a query made it. */
  readonly isResult: boolean;
}

export interface Column {
  readonly name: string;
  readonly words: readonly string[];
  /** `mixed` for anything that is not always of one of these types; `unknown` if the prompt shows no value. */
  readonly type: "string" | "number" | "boolean" | "mixed" | "unknown";
}

/** A column of a record, by the type of its value in SQL. */
export function columnOf(name: string, sqlType: string): Column {
  const words = wordsOfName(name);
  if (sqlType === "text") return { name, words, type: "string" };
  return { name, words, type: sqlType === "null" ? "unknown" : "number" };
}

/** The table in a variable. Undefined for what is no list of records. */
export function tableOf({ name, type, count, shape }: Variable): Table | undefined {
  const isOwn = name !== "history" && name !== "input";
  const read = type === "array" && isOwn ? columnsIn(shape) : undefined;
  if (read === undefined) return undefined;
  const words = wordsOfName(name).filter((word) => !/^\p{N}+$/u.test(word));
  const own = words.filter(
    (word, index) => !(index === 0 && READING.has(word)) && !PLAIN.has(word),
  );
  return { name, ...read, count, words: own, isResult: /^query(?:_\d+)?$/u.test(name) };
}

/** Verbs of tools that only read. */
export const READING: ReadonlySet<string> = new Set(
  "get list show find search fetch read lookup look query view load retrieve check describe browse".split(
    " ",
  ),
);

/** Words for a table that are not its name. */
export const PLAIN: ReadonlySet<string> = new Set(
  "row record entry table csv json ndjson file dataset data spreadsheet sheet variable upload uploaded".split(
    " ",
  ),
);

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

const MAX_CUTS = 30;

function columnsOf([list, ...others]: Shape): Pick<Table, "columns" | "isOpen"> | undefined {
  if (typeof list !== "object" || !("elements" in list) || others.length > 0) return undefined;
  const [record, ...more] = list.elements;
  if (typeof record !== "object" || !("keys" in record) || more.length > 0) return undefined;
  const columns = record.keys.map(({ key, shape }) => {
    return { name: key, words: wordsOfName(key), type: typeOf(shape) };
  });
  return { columns, isOpen: record.isOpen };
}

function typeOf(shape: Shape): Column["type"] {
  const [type, ...others] = shape.filter((kind) => kind !== "null");
  if (type === undefined) return "unknown";
  const isPlain = type === "string" || type === "number" || type === "boolean";
  return isPlain && others.length === 0 ? type : "mixed";
}
