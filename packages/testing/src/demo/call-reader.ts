import type { JSONObject, JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { fits, type Parameter } from "./parameters.ts";
import { namesOfRegion } from "./regions.ts";
import { PLAIN, READING, type Table } from "./tables.ts";
import {
  isFiller,
  isPreposition,
  isTelling,
  numberOf,
  phraseAt,
  type Token,
  wordsOfName,
} from "./words.ts";

/** A way to read a question as calls of a tool. */
export interface CallReading {
  readonly tool: LanguageModelV4FunctionTool;
  /** One input for each place or thing listed in the question. */
  readonly inputs: readonly JSONObject[];
  /** Required parameters that cannot be read off. */
  readonly missing: readonly string[];
  /** Tokens that no parameter uses, in order. */
  readonly rest: readonly Token[];
  /** The question without what is in the input. */
  readonly left: readonly Token[];
  /** The words of the tool's name. */
  readonly words: readonly string[];
  /** True if the question is about the number of items. */
  readonly counts: boolean;
  /** True if the call may change something: its name does not begin as those that read. */
  readonly changes: boolean;
}

export interface Callable {
  readonly tool: LanguageModelV4FunctionTool;
  /** Lists that a call may pass on by reference. */
  readonly tables: readonly Table[];
}

interface Reading extends Callable {
  readonly parameters: readonly Parameter[];
  /** The words that mean the tool. */
  readonly words: readonly string[];
  /** True if the call changes nothing, judging by its name. */
  readonly reads: boolean;
}

interface Pending {
  readonly kind: "number" | "quoted" | "name" | "phrase";
  readonly token: Token;
  readonly text: string;
  /** True behind "and" or a comma. */
  readonly isMore?: boolean;
}

/** Reads a question as a call of one tool. Each word is a part of the call, or it is in the rest. */
export class CallReader {
  readonly #tokens: readonly Token[];
  readonly #reading: Reading;
  readonly #input: Record<string, JSONValue> = {};
  readonly #pending: Pending[] = [];
  readonly #rest: Token[] = [];
  readonly #used = new Set<Token>();
  #listed: { readonly name: string; readonly texts: readonly string[] } | undefined;
  #counts = false;
  #at = 0;
  /** True directly after the tool's name, where a value may follow. */
  #isAfterName = false;

  constructor(tokens: readonly Token[], reading: Reading) {
    this.#tokens = tokens;
    this.#reading = reading;
  }

  read(): CallReading {
    while (this.#at < this.#tokens.length) {
      const token = this.#token;
      const isRead =
        this.#count() ||
        this.#named() ||
        this.#choice() ||
        this.#name() ||
        this.#text() ||
        this.#phrase() ||
        this.#filler();
      if (isRead) continue;
      this.#rest.push(token);
      this.#pass(1);
    }
    return this.#whole();
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? NOTHING;
  }

  get #reads(): boolean {
    return this.#reading.reads;
  }

  /** "how many", "number of" */
  #count(): boolean {
    const words = this.#tokens.slice(this.#at, this.#at + 2).map(({ word }) => word);
    const isCount = ["how many", "number of"].includes(words.join(" "));
    if (!isCount || !this.#reads) return false;
    this.#counts = true;
    return this.#pass(2);
  }

  /** A parameter by its name: "priority high", "limit 5". */
  #named(): boolean {
    const from = this.#at + (CONNECTING.has(this.#token.word) ? 1 : 0);
    for (const parameter of this.#reading.parameters) {
      const length = phraseAt(this.#tokens, from, parameter.words);
      if (length === 0 || parameter.name in this.#input) continue;
      let to = from + length;
      while (BETWEEN.has(this.#tokens[to]?.word ?? "") || isArticle(this.#tokens[to] ?? NOTHING))
        to++;
      const found = this.#valueAt(to, parameter);
      if (found === undefined) continue;
      return this.#use(parameter, found.value, to + found.length - this.#at);
    }
    return false;
  }

  #valueAt(at: number, parameter: Parameter) {
    const token = this.#tokens[at];
    if (token === undefined) return undefined;
    if (parameter.type === "choice") return this.#choiceAt(at, parameter);
    if (parameter.type === "number") {
      return token.kind === "number" ? { value: numberOf(token), length: 1 } : undefined;
    }
    if (parameter.type === "boolean" && (token.word === "true" || token.word === "false")) {
      return { value: token.word === "true", length: 1 };
    }
    if (parameter.type !== "string") return undefined;
    if (token.kind === "number" || token.kind === "quoted") {
      return fits(token.text, parameter) ? { value: token.text, length: 1 } : undefined;
    }
    const length = this.#phraseLength(at);
    const value = this.#textOf(at, length);
    return length > 0 && fits(value, parameter) ? { value, length } : undefined;
  }

  #choice(): boolean {
    for (const parameter of this.#reading.parameters) {
      const found = this.#choiceAt(this.#at, parameter);
      if (found === undefined || parameter.name in this.#input) continue;
      return this.#use(parameter, found.value, found.length);
    }
    return false;
  }

  #choiceAt(at: number, { choices }: Parameter) {
    return choices
      .map((value) => ({ value, length: phraseAt(this.#tokens, at, wordsOfName(value)) }))
      .filter(({ length }) => length > 0)
      .toSorted((a, b) => b.length - a.length)[0];
  }

  #name(): boolean {
    const { kind, stem } = this.#token;
    const isList = this.#reading.parameters.some(
      ({ type, words }) => type === "array" && words.includes(stem),
    );
    if (kind !== "word" || !(isList || this.#reading.words.includes(stem))) return false;
    this.#pass(1);
    this.#isAfterName = true;
    return true;
  }

  /** A quoted text, a number, or what looks like an id. */
  #text(): boolean {
    const token = this.#token;
    const isId = token.kind === "word" && /\p{N}|@/u.test(token.text);
    if (token.kind !== "quoted" && token.kind !== "number" && !isId) return false;
    const kind = isId ? "name" : token.kind === "number" ? "number" : "quoted";
    return this.#keep({ kind, token, text: token.text }, 1);
  }

  /** Words after in, for, of and the like, or a name directly after the tool's: "weather Paris". */
  #phrase(): boolean {
    if (!this.#reads) return false;
    const last = this.#pending.at(-1);
    const isMore =
      last?.kind === "phrase" && (this.#token.word === "and" || this.#token.word === ",");
    const isBehind = isPreposition(this.#token) || isMore;
    let from = this.#at + (isBehind ? 1 : 0);
    if (isMore && this.#tokens[from]?.word === "and") from++;
    if (isBehind) while (isArticle(this.#tokens[from] ?? NOTHING)) from++;
    if (!isBehind && !(this.#isAfterName && isCapitalised(this.#token))) return false;
    const length = this.#phraseLength(from);
    const token = this.#tokens[from];
    if (length === 0 || token === undefined || (isMore && !isCapitalised(token))) return false;
    const text = this.#textOf(from, length);
    const whole = `${last?.text} ${this.#token.word} ${text}`;
    if (isMore && namesOfRegion(whole.replace(" and ", " & ")).length > 0) {
      this.#pending.pop();
      const isJoined = last?.isMore === true;
      return this.#keep(
        { kind: "phrase", token, text: whole, isMore: isJoined },
        from + length - this.#at,
      );
    }
    return this.#keep({ kind: "phrase", token, text, isMore }, from + length - this.#at);
  }

  #filler(): boolean {
    const token = this.#token;
    // In questions that change something, "from" and "to" carry meaning.
    if (!this.#reads) return POLITE.has(token.word) && this.#pass(1);
    const isPlain = token.kind === "word" && (READING.has(token.stem) || PLAIN.has(token.stem));
    const isBetween = isPreposition(token) && !this.#isDangling(this.#at + 1);
    return (isPlain || isFiller(token) || isBetween) && this.#pass(1);
  }

  /** "from us" */
  #isDangling(from: number): boolean {
    let at = from;
    while (isFiller(this.#tokens[at] ?? NOTHING)) at++;
    const next = this.#tokens[at];
    return next === undefined || isPreposition(next) || CONNECTING.has(next.word);
  }

  #phraseLength(at: number): number {
    let end = at;
    while (this.#isValue(this.#tokens[end])) end++;
    return end - at;
  }

  #isValue(token: Token | undefined): boolean {
    if (token === undefined || token.kind !== "word" || isTelling(token)) return false;
    const isName = this.#reading.words.includes(token.stem);
    const at = this.#tokens.indexOf(token);
    if (this.#reading.parameters.some((one) => this.#choiceAt(at, one) !== undefined)) return false;
    return !isName && !isFiller(token) && !isPreposition(token);
  }

  #textOf(at: number, length: number): string {
    return this.#tokens
      .slice(at, at + length)
      .map(({ text }) => text)
      .join(" ");
  }

  #keep(pending: Pending, count: number): true {
    this.#pending.push(pending);
    return this.#pass(count);
  }

  #pass(count: number): true {
    this.#isAfterName = false;
    this.#at += count;
    return true;
  }

  #use({ name }: Parameter, value: JSONValue, count: number): true {
    this.#input[name] = value;
    for (const token of this.#tokens.slice(this.#at, this.#at + count)) this.#used.add(token);
    return this.#pass(count);
  }

  #whole(): CallReading {
    const { tool, tables, parameters, words } = this.#reading;
    for (const parameter of parameters) {
      const list = parameter.isRequired ? listFor(parameter, tables) : undefined;
      if (list !== undefined) this.#input[parameter.name] = `$${list.name}`;
    }
    const unused = new Set([...this.#rest, ...this.#unnamed()]);
    const inputs =
      this.#listed === undefined
        ? [this.#input]
        : this.#listed.texts.map((text) => ({ ...this.#input, [this.#listed?.name ?? ""]: text }));
    const missing = parameters.filter(
      ({ name, isRequired }) => isRequired && !(name in (inputs[0] ?? {})),
    );
    return {
      tool,
      inputs,
      words,
      missing: missing.map(({ name }) => name),
      rest: this.#tokens.filter((token) => unused.has(token)),
      left: this.#tokens.filter((token) => !this.#used.has(token)),
      counts: this.#counts,
      changes: !this.#reads,
    };
  }

  /** Gives what has no name to the required parameter that is alone of its type. Returns what is left. */
  #unnamed(): readonly Token[] {
    const open = this.#reading.parameters.filter(
      ({ name, isRequired }) => isRequired && !(name in this.#input),
    );
    const [number, ...numbers] = open.filter(({ type }) => type === "number");
    const [string, ...strings] = open.filter(({ type }) => type === "string");
    let left: readonly Pending[] = this.#pending;
    const [first, ...more] = left.filter(({ kind }) => kind === "number");
    if (number !== undefined && numbers.length === 0 && first !== undefined && more.length === 0) {
      this.#input[number.name] = numberOf(first.token);
      left = left.filter((one) => one !== first);
    }
    const texts = [...new Set(left.map(({ text }) => text))];
    const isList = left.slice(1).every(({ isMore }) => isMore === true);
    const hasNumber = left.some(({ kind }) => kind === "number");
    if (string === undefined || strings.length > 0 || texts.length === 0 || !isList)
      return tokensIn(left);
    if (hasNumber && (number !== undefined || texts.length > 1)) return tokensIn(left);
    const isFit = texts.length <= MAX_CALLS && texts.every((text) => fits(text, string));
    if (!isFit || (texts.length > 1 && !this.#reads)) return tokensIn(left);
    this.#listed = { name: string.name, texts };
    return [];
  }
}

function tokensIn(pending: readonly Pending[]): readonly Token[] {
  return pending.map(({ token }) => token);
}

/** The one list that a parameter means by its name, with the keys that its records need. */
function listFor({ type, words, keys }: Parameter, tables: readonly Table[]): Table | undefined {
  const fitting = tables.filter(
    (table) =>
      table.words.join(" ") === words.join(" ") &&
      keys.every((key) => table.isOpen || table.columns.some(({ name }) => name === key)),
  );
  return type === "array" && fitting.length === 1 ? fitting[0] : undefined;
}

/** A person has to wait for them. */
const MAX_CALLS = 5;

function isCapitalised({ kind, text }: Token): boolean {
  return kind === "word" && /^\p{Lu}/u.test(text);
}

function isArticle({ word }: Token): boolean {
  return word === "the" || word === "a" || word === "an" || word === "my";
}

/** Polite words that a request may contain. */
export const POLITE: ReadonlySet<string> = new Set(
  "please can could would you hi hello hey , the a an my me".split(" "),
);
const CONNECTING: ReadonlySet<string> = new Set(["with", "where", "whose", "having", "and"]);
const BETWEEN: ReadonlySet<string> = new Set(["is", "=", ":", "of", "to", "equals"]);
const NOTHING: Token = { kind: "sign", text: "", word: "", stem: "" };
