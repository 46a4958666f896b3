import {
  BOOLEANS,
  CONDITION,
  EQUALS,
  GROUPING,
  HAVING,
  type Operation,
  OPERATIONS,
} from "./query-words.ts";
import { type Column, PLAIN, type Table } from "./tables.ts";
import { isFiller, isPreposition, isTelling, numberOf, phraseAt, type Token } from "./words.ts";

export interface Filter {
  readonly column: Column;
  /** The value as written in the question. */
  readonly value: string | number | boolean;
}

/** A question about a table, in which each word is accounted for. */
export interface Query {
  readonly operation: Operation;
  /** The column that is summed, and so on. */
  readonly column: Column | undefined;
  readonly group: Column | undefined;
  readonly filters: readonly Filter[];
  /** Texts that records should have, in a column that the question does not name. */
  readonly values: readonly Placed[];
}

interface Placed {
  readonly text: string;
  /** The word before it: "from", in "from Oslo". */
  readonly before: string;
}

export type QueryReading = Query | { readonly problem: string };

/** Reads a question about a table. Each word must be accounted for, otherwise it is a problem. */
export function readQuery(tokens: readonly Token[], table: Table): QueryReading {
  return new QueryReader(tokens, table).read();
}

class QueryReader {
  readonly #tokens: readonly Token[];
  readonly #table: Table;
  readonly #named = new Set<string>();
  readonly #filters: Filter[] = [];
  readonly #values: Placed[] = [];
  #at = 0;
  #operation: Operation | undefined;
  #column: Column | undefined;
  #group: Column | undefined;
  /** The index after the column of the grouping. */
  #groupEnd = -1;
  #hasSubject = false;
  /** The last piece was "and", "with" or the like: a condition on a column follows. */
  #expects: "condition" | undefined;
  #problem: string | undefined;

  constructor(tokens: readonly Token[], table: Table) {
    this.#tokens = tokens;
    this.#table = table;
  }

  read(): QueryReading {
    while (this.#at < this.#tokens.length && this.#problem === undefined) {
      const isRead =
        (this.#expects !== undefined && this.#condition()) ||
        this.#start() ||
        this.#grouping() ||
        this.#operand() ||
        this.#subject() ||
        this.#condition() ||
        this.#connection() ||
        this.#value();
      if (!isRead) this.#problem ??= `I do not know what to do with “${this.#token.text}”`;
    }
    return this.#whole();
  }

  /** "Which sale has the highest total?" */
  get #asksForRecord(): boolean {
    return this.#tokens.some(({ word }, index) => {
      const next = this.#tokens[this.#afterFillers(index + 1)] ?? NOTHING;
      return /^wh(?:ich|at)$/u.test(word) && this.#namesRecords(next);
    });
  }

  /** True if the question sums and the like, and the column is not read yet. */
  get #needsColumn(): boolean {
    return this.#isOfColumn && this.#column === undefined;
  }

  get #isOfColumn(): boolean {
    return this.#operation !== undefined && this.#operation !== "count";
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? NOTHING;
  }

  #start(): boolean {
    const found = OPERATIONS.find(([, words]) => this.#says(words));
    if (found === undefined) return false;
    // "the average number of hours" is that of the hours.
    if (this.#isOfColumn && found[1] === "number of") return this.#pass(2);
    if (this.#operation !== undefined) return false;
    [this.#operation] = found;
    return this.#pass(found[1].split(" ").length);
  }

  #grouping(): boolean {
    const words = GROUPING.find((one) => this.#says(one));
    if (words === undefined) return false;
    const at = this.#afterFillers(this.#at + words.split(" ").length);
    const found = this.#columnAt(at);
    if (found === undefined || this.#group !== undefined) {
      const { text } = this.#tokens[at] ?? NOTHING;
      return this.#refuse(`I cannot group by “${text}”, which is not a column that I see`);
    }
    this.#group = found.column;
    this.#groupEnd = at + found.length;
    return this.#pass(this.#groupEnd - this.#at);
  }

  /** The column of a sum and the like. It may be named as the table is. */
  #operand(): boolean {
    const found = this.#needsColumn ? this.#columnAt(this.#at) : undefined;
    if (found === undefined || this.#conditionAt(this.#at) !== undefined) return false;
    if (found.column.type !== "number" && found.column.type !== "unknown") {
      return this.#refuse(`“${found.column.name}” is not a column of numbers`);
    }
    this.#column = found.column;
    for (const word of found.column.words) this.#named.add(word);
    return this.#pass(found.length);
  }

  #subject(): boolean {
    const { kind, text, stem } = this.#token;
    if (kind === "quoted" || kind === "number") return false;
    const isName = text === this.#table.name;
    const isOwn = this.#table.words.includes(stem);
    if (!isName && !isOwn && !PLAIN.has(stem)) return false;
    if (isName) for (const word of this.#table.words) this.#named.add(word);
    this.#named.add(stem);
    this.#hasSubject ||=
      isName || !isOwn || this.#table.words.every((word) => this.#named.has(word));
    return this.#pass(1);
  }

  /** True for a word of the table's name, or "rows". */
  #namesRecords({ stem }: Token): boolean {
    return this.#table.words.includes(stem) || PLAIN.has(stem);
  }

  #condition(): boolean {
    const found = this.#conditionAt(this.#at);
    if (found === undefined) return false;
    this.#filters.push(found.filter);
    this.#expects = undefined;
    return this.#pass(found.length);
  }

  /** Passes what connects the other pieces. */
  #connection(): boolean {
    const opens = CONDITION.some((word) => this.#says(word));
    if (opens || this.#says("and")) {
      this.#expects = "condition";
      return this.#pass(1);
    }
    if (isPreposition(this.#token) && this.#isDangling(this.#at + 1)) return false;
    return (isFiller(this.#token) || isPreposition(this.#token)) && this.#pass(1);
  }

  /** "from us" */
  #isDangling(from: number): boolean {
    const next = this.#tokens[this.#afterFillers(from)];
    if (next === undefined || isPreposition(next) || CONDITION.includes(next.word)) return true;
    return next.word === "by" || next.word === "per" || next.word === "and";
  }

  /** A text without a column. After "and" and "with" it needs one, or a preposition. */
  #value(): boolean {
    const { kind, text } = this.#token;
    const before = this.#tokens[this.#at - 1];
    if (this.#expects !== undefined && (before === undefined || !isPreposition(before)))
      return false;
    if (kind === "number") return this.#refuse(`I cannot tell of which column ${text} is a value`);
    const length = this.#valueLength(this.#at);
    if (length === 0) return false;
    this.#values.push({ text: this.#textOf(this.#at, length), before: before?.word ?? "" });
    this.#expects = undefined;
    return this.#pass(length);
  }

  #conditionAt(at: number): { readonly filter: Filter; readonly length: number } | undefined {
    const named = this.#columnAt(at);
    if (named === undefined) return this.#countedAt(at);
    const end = at + named.length;
    let to = end;
    while (this.#isEqual(this.#tokens[to]?.word ?? "")) to++;
    const { column } = named;
    const token = this.#tokens[to] ?? NOTHING;
    const found = (value: Filter["value"], length: number) => {
      return { filter: { column, value }, length: to + length - at };
    };
    if (column.type === "number") {
      return token.kind === "number" ? found(numberOf(token), 1) : undefined;
    }
    if (column.type === "boolean") {
      const value = BOOLEANS.get(token.word);
      if (value !== undefined) return found(value, 1);
      return to === end && this.#isAdjective(at) ? found(true, 0) : undefined;
    }
    if (token.kind === "number" || token.kind === "quoted") return found(token.text, 1);
    const length = this.#valueLength(to);
    return length === 0 ? undefined : found(this.#textOf(to, length), length);
  }

  /** "paid sales", but not the second column of "by city and paid", and not what "sum of paid" sums. */
  #isAdjective(at: number): boolean {
    let before = at - 1;
    while (isFiller(this.#tokens[before] ?? NOTHING)) before--;
    const isSecond = this.#tokens[before]?.word === "and" || before + 1 === this.#groupEnd;
    return !isSecond && !this.#needsColumn;
  }

  /** In "the sum of a of b" the second "of" names the records. */
  #isEqual(word: string): boolean {
    return EQUALS.has(word) && !(word === "of" && this.#needsColumn);
  }

  /** "with 3 items" */
  #countedAt(at: number) {
    const token = this.#tokens[at];
    const before = this.#tokens[at - 1]?.word ?? "";
    if (token?.kind !== "number" || !HAVING.has(before)) return undefined;
    const found = this.#columnAt(at + 1);
    if (found?.column.type !== "number") return undefined;
    const filter = { column: found.column, value: numberOf(token) };
    return { filter, length: 1 + found.length };
  }

  #columnAt(at: number): { readonly column: Column; readonly length: number } | undefined {
    const token = this.#tokens[at];
    if (token?.kind === "quoted") {
      const named = this.#table.columns.find(
        ({ name }) => name.trim().toLowerCase() === token.word,
      );
      return named && { column: named, length: 1 };
    }
    const found = this.#table.columns
      .map((column) => ({ column, length: phraseAt(this.#tokens, at, column.words) }))
      .filter(({ length }) => length > 0)
      .toSorted((a, b) => b.column.words.length - a.column.words.length);
    const [first, second] = found;
    // `a b` and `a_b` read the same.
    const isClear =
      second === undefined || second.column.words.length < (first?.column.words.length ?? 0);
    return isClear ? first : undefined;
  }

  #valueLength(at: number): number {
    let end = at;
    while (this.#isValue(end, at)) end++;
    return end - at;
  }

  #isValue(at: number, start: number): boolean {
    const token = this.#tokens[at];
    if (token === undefined || token.kind === "sign" || token.kind === "reference") return false;
    if (token.kind === "quoted") return at === start;
    if (this.#tokens[at - 1]?.kind === "quoted" && at > start) return false;
    if (token.kind === "number") return at > start;
    const isUsed =
      this.#namesRecords(token) || isFiller(token) || isPreposition(token) || isTelling(token);
    return !isUsed && this.#columnAt(at) === undefined;
  }

  #textOf(at: number, length: number): string {
    return this.#tokens
      .slice(at, at + length)
      .map(({ text }) => text)
      .join(" ");
  }

  #afterFillers(from: number): number {
    let at = from;
    while (isFiller(this.#tokens[at] ?? NOTHING)) at++;
    return at;
  }

  #says(words: string): boolean {
    return words.split(" ").every((word, index) => {
      const token = this.#tokens[this.#at + index];
      return token?.kind === "word" && token.word === word;
    });
  }

  #pass(count: number): true {
    this.#at += count;
    return true;
  }

  #refuse(problem: string): false {
    this.#problem = problem;
    return false;
  }

  #whole(): QueryReading {
    if (this.#problem !== undefined) return { problem: this.#problem };
    const operation = this.#operation ?? "list";
    const needsColumn = operation !== "list" && operation !== "count";
    // "What is the total?" means a column of that name, if there is one.
    const column =
      this.#column ??
      (operation === "sum"
        ? this.#table.columns.find(
            ({ name, type }) => name.toLowerCase() === "total" && type === "number",
          )
        : undefined);
    if (this.#expects !== undefined) return { problem: "The condition has no end" };
    if (needsColumn && column === undefined)
      return { problem: "The question does not name a column of numbers" };
    if (this.#group !== undefined && operation === "list") {
      return { problem: "The question groups, and does not say which figure" };
    }
    const used = this.#filters.map((filter) => filter.column.name);
    if (new Set(used).size < used.length)
      return { problem: "The question has two values for one column" };
    if (this.#asksForRecord && (operation === "max" || operation === "min")) {
      return { problem: "I find the highest or lowest value, not the record that has it" };
    }
    const isFigure =
      this.#column !== undefined ||
      this.#group !== undefined ||
      (this.#filters.length > 0 && this.#operation !== undefined);
    if (!this.#hasSubject && !isFigure) {
      return { problem: "The question does not name a table" };
    }
    const [filters, values] = [this.#filters, this.#values];
    return {
      operation,
      column: needsColumn ? column : undefined,
      group: this.#group,
      filters,
      values,
    };
  }
}

const NOTHING: Token = { kind: "sign", text: "", word: "", stem: "" };
