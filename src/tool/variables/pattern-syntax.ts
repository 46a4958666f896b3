import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { isDigit, isWordCode } from "../../value/characters.ts";

/** The parts of a pattern. Anchors (`^`, `$`) match no character. */
export type Pattern =
  | { readonly kind: "character"; readonly test: CharacterTest }
  | { readonly kind: "lineStart" | "lineEnd" }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number };

/** True if the code point matches. */
export type CharacterTest = (code: number) => boolean;

export const LINE_FEED = 10;

/**
 * Parses a pattern of characters, `.`, `[a-z]`, `[^a-z]`, `\d \w \s \D \W \S`, `^`, `$`, `|`, `( )`, `* + ?`
 * and `{2,5}`. None of them needs backtracking. Throws `invalid_tool_input` for anything else.
 */
export function parsePattern(source: string, matchCase: boolean): Pattern {
  const parser = new Parser(source, matchCase);
  const pattern = parser.choice();
  parser.requireEnd();
  return pattern;
}

class Parser {
  readonly #source: readonly string[];
  readonly #cased: (test: CharacterTest) => CharacterTest;
  #at = 0;

  constructor(source: string, matchCase: boolean) {
    this.#source = [...source];
    this.#cased = matchCase ? (test) => test : inAnyCase;
  }

  requireEnd(): void {
    if (this.#at < this.#source.length) throw this.#refused("a ) without its (");
  }

  choice(): Pattern {
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "choice", parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (let next = this.#peek(); next !== undefined; next = this.#peek()) {
      if (next === "|" || next === ")") break;
      parts.push(this.#repeated(this.#atom()));
    }
    return { kind: "sequence", parts };
  }

  #repeated(part: Pattern): Pattern {
    let repeated = part;
    for (;;) {
      const count = this.#count();
      if (count === undefined) return repeated;
      // Lazy and greedy matching find the same matches.
      repeated = { kind: "repeat", part: repeated, ...count };
    }
  }

  #count(): { min: number; max: number } | undefined {
    if (this.#takes("*")) return { min: 0, max: Infinity };
    if (this.#takes("+")) return { min: 1, max: Infinity };
    if (this.#takes("?")) return { min: 0, max: 1 };
    if (!this.#takes("{")) return undefined;
    const min = this.#number();
    const max = this.#takes(",") ? this.#number() : min;
    const isCount = min !== undefined && this.#takes("}");
    if (!isCount || min > (max ?? min) || (max ?? min) > limits.maxPatternCount) {
      throw this.#refused(
        `a { that is no count up to ${limits.maxPatternCount} (write \\{ for the character)`,
      );
    }
    return { min, max: max ?? Infinity };
  }

  #number(): number | undefined {
    let digits = "";
    while (/^\d$/.test(this.#peek() ?? "")) digits += this.#take();
    return digits === "" ? undefined : Number(digits);
  }

  #atom(): Pattern {
    const next = this.#take();
    if (next === "(") return this.#group();
    if (next === "[") return { kind: "character", test: this.#characterClass() };
    if (next === ".") return { kind: "character", test: (code) => code !== LINE_FEED };
    if (next === "^") return { kind: "lineStart" };
    if (next === "$") return { kind: "lineEnd" };
    if (next === "\\") return { kind: "character", test: this.#escape() };
    if (next === "*" || next === "+" || next === "?" || next === "{") {
      throw this.#refused(`a ${next} with nothing before it`);
    }
    return { kind: "character", test: this.#cased(exactly(next)) };
  }

  #group(): Pattern {
    if (this.#takes("?")) {
      const isPlain = this.#takes(":");
      if (!isPlain) throw this.#refused("(? … ): it can neither look around nor name groups");
    }
    const inner = this.choice();
    if (!this.#takes(")")) throw this.#refused("a ( without its )");
    return inner;
  }

  #escape(): CharacterTest {
    const next = this.#take();
    const known = classes.get(next);
    if (known !== undefined) return known;
    const control = controls.get(next);
    if (control !== undefined) return exactly(control);
    if (/^[a-z0-9]$/i.test(next)) throw this.#refused(`\\${next}`);
    return this.#cased(exactly(next));
  }

  #characterClass(): CharacterTest {
    const isNegated = this.#takes("^");
    const tests: CharacterTest[] = [];
    for (let isFirst = true; isFirst || this.#peek() !== "]"; isFirst = false) {
      tests.push(this.#classMember());
    }
    this.#at++;
    const isIn: CharacterTest = (code) => tests.some((test) => test(code));
    return isNegated ? (code) => !isIn(code) : isIn;
  }

  #classMember(): CharacterTest {
    const first = this.#take();
    if (first === "\\") return this.#escape();
    const isRange = this.#peek() === "-" && (this.#source[this.#at + 1] ?? "]") !== "]";
    if (!isRange) return this.#cased(exactly(first));
    this.#at++;
    const last = this.#take();
    const from = first.codePointAt(0) ?? 0;
    const to = last.codePointAt(0) ?? 0;
    if (last === "\\" || from > to) throw this.#refused(`the range ${first}-${last}`);
    return this.#cased((code) => code >= from && code <= to);
  }

  #peek(): string | undefined {
    return this.#source[this.#at];
  }

  #takes(wanted: string): boolean {
    const isThere = this.#peek() === wanted;
    if (isThere) this.#at++;
    return isThere;
  }

  #take(): string {
    const next = this.#peek();
    if (next === undefined) throw this.#refused("an end that is too early");
    this.#at++;
    return next;
  }

  #refused(what: string): ByrefError {
    const can = "Patterns have . [a-z] [^a-z] \\d \\w \\s ^ $ | ( ) * + ? {2,5} and no more.";
    return new ByrefError("invalid_tool_input", `The pattern has ${what}. ${can}`);
  }
}

function exactly(character: string): CharacterTest {
  const wanted = character.codePointAt(0);
  return (code) => code === wanted;
}

/** Ignores case, except for letters that become two when their case changes. */
function inAnyCase(test: CharacterTest): CharacterTest {
  return (code) => {
    if (test(code)) return true;
    const character = String.fromCodePoint(code);
    return [character.toUpperCase(), character.toLowerCase()].some(
      (other) => [...other].length === 1 && test(other.codePointAt(0) ?? code),
    );
  };
}

const space: CharacterTest = (code) =>
  (code >= 9 && code <= 13) || code === 32 || code === 0xa0 || code === 0x2028 || code === 0x2029;

const classes: ReadonlyMap<string, CharacterTest> = new Map([
  ["d", isDigit],
  ["w", isWordCode],
  ["s", space],
  ["D", (code: number) => !isDigit(code)],
  ["W", (code: number) => !isWordCode(code)],
  ["S", (code: number) => !space(code)],
]);

const controls: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
