import { limitExceeded, type LimitName, maxima } from "../errors.ts";
import * as limits from "../limits.ts";
import { isJsonArray, isJsonObject, isScalar, type Json } from "../value/json.ts";
import { charsOf } from "../value/json-text.ts";
import { formatPath } from "../value/path.ts";
import { renderText } from "../value/render.ts";
import type { Unresolved } from "./expand.ts";
import { LookupWork, type Found, type Lookup, type Missing } from "./lookup.ts";
import { describe, problemFrom, ReferenceProblem } from "./reference-problem.ts";
import {
  type Alternatives,
  type Operand,
  type Reference,
  type Syntax,
  wholeReference,
} from "./reference.ts";
import { inertText } from "./inert-text.ts";
import { Scanner } from "./scanner.ts";
import { pickSyntaxes, type SyntaxName } from "./syntaxes.ts";
import { UrlTracker } from "./url-tracker.ts";
import { matchPath } from "./grammar.ts";

/** How references in a tool's input are resolved. */
export interface ResolveOptions {
  /** Default: dollar only. */
  readonly syntaxes?: readonly (SyntaxName | Syntax)[];
  /** How to treat an unknown name: `keep` (default) leaves the text and notes it. */
  readonly unknown?: "keep" | "error";
  /** The work of reading. Default: the limit of one input. */
  readonly work?: LookupWork | undefined;
  /** Called for each resolved reference, with its source and value. Must not throw. */
  readonly onResolved?: (source: string, found: Found) => void;
  /** Returns a text to put at a place in the input instead of the value of a whole reference. Default: none. */
  readonly textFor?: (
    reference: Reference,
    value: Json,
    place: Place,
  ) => Promise<string | undefined>;
  /** Called when a value becomes part of a URL that surrounding text, or another value, opens. */
  readonly onComposed?: () => void;
}

/** The keys and indices that lead to a part of an input. */
export type Place = readonly (string | number)[];

/** A tool's input with values in place of its references. */
export interface Resolution {
  readonly value: Json;
  /** Text with the form of a reference, but with an unknown name. It stayed as written. */
  readonly unresolved: readonly Unresolved[];
}

/**
 * Resolves every reference in the strings of a value (at any depth, except keys). A string that is exactly
 * one reference becomes the value itself, not copied or serialized; a reference inside a longer string
 * becomes text. Throws a `ReferenceProblem`; then nothing is resolved.
 */
export async function resolveReferences(
  value: Json,
  lookup: Lookup,
  options: ResolveOptions = {},
): Promise<Resolution> {
  const resolver = new Resolver(lookup, options);
  return { value: await resolver.resolve(value, []), unresolved: resolver.unresolved };
}

/** A text with its references replaced, and the references that stayed as written. */
export interface Interpolation {
  readonly text: string;
  readonly unresolved: readonly Unresolved[];
}

/**
 * Replaces every reference in a text by text: strings as they are, everything else as compact JSON, in code
 * and URLs too; URLs of `inert` values are escaped. Unresolved references stay as written and are listed; a
 * secret prints as `[secret: name]`. Default syntax: mustache. Throws only `limit_exceeded`.
 */
export async function interpolate(
  text: string,
  lookup: Lookup,
  { syntaxes = ["mustache"], ...options }: Pick<ResolveOptions, "syntaxes" | "onComposed"> = {},
): Promise<Interpolation> {
  const resolver = new Resolver(lookup, { ...options, syntaxes });
  return { text: await resolver.embed(text, "keep"), unresolved: resolver.unresolved };
}

class Resolver {
  readonly unresolved: Unresolved[] = [];
  readonly #lookup: Lookup;
  readonly #options: ResolveOptions;
  readonly #syntaxes: readonly Syntax[];
  readonly #work: LookupWork;
  /** Results by reference, so that each distinct reference is read once. */
  readonly #answers = new Map<string, Found | Missing>();
  #references = 0;
  #chars = 0;

  constructor(lookup: Lookup, options: ResolveOptions) {
    this.#lookup = lookup;
    this.#options = options;
    this.#work = options.work ?? new LookupWork();
    this.#syntaxes = pickSyntaxes(options.syntaxes);
  }

  /** Resolves a value. Returns a subtree without references unchanged. */
  async resolve(value: Json, place: Place): Promise<Json> {
    if (typeof value === "string") return this.#resolveText(value, place);
    if (!isJsonArray(value) && !isJsonObject(value)) return value;
    check("maxDepth", place.length + 1, "Pass deep data by one reference.");
    const isArray = isJsonArray(value);
    let changed = false;
    const resolved: [string | number, Json][] = [];
    for (const [key, inner] of isArray ? value.entries() : Object.entries(value)) {
      const next = this.#isInert(inner) ? inner : await this.resolve(inner, [...place, key]);
      changed ||= next !== inner;
      resolved.push([key, next]);
    }
    if (!changed) return value;
    // `fromEntries` defines own properties, so that a key named __proto__ stays a key.
    return Object.freeze(
      isArray ? resolved.map(([, inner]) => inner) : Object.fromEntries(resolved),
    );
  }

  /** True for a value that cannot contain a reference, so that it costs no promise. */
  #isInert(value: Json): boolean {
    if (typeof value !== "string") return isScalar(value);
    return !this.#syntaxes.some((syntax) => value.includes(syntax.opening));
  }

  async #resolveText(text: string, place: Place): Promise<Json> {
    if (this.#isInert(text)) return text;
    const whole = wholeReference(text, this.#syntaxes);
    if (whole !== undefined) return this.#resolveWhole(whole, place);
    for (const syntax of this.#syntaxes) {
      const alternatives = syntax.alternatives?.(text);
      if (alternatives !== undefined) return this.#resolveAlternatives(alternatives, text, place);
    }
    return this.embed(text, "throw");
  }

  async #resolveWhole(operand: Operand, place: Place): Promise<Json> {
    const answer = await this.#find(operand.reference);
    // An unknown name is not a reference, but its path may contain one: ['$name'].
    if (!answer.found && answer.reason === "unknown") return this.#resolveUnknown(operand, answer);
    this.#count();
    if (answer.found) return this.#whole(operand, answer, place);
    throw problemFrom(operand.source, answer);
  }

  async #find(reference: Reference): Promise<Found | Missing> {
    const { name, path } = reference;
    const key = name + formatPath(path);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = await this.#lookup(reference, this.#work);
    const isSized = !answer.found || answer.chars !== undefined || path.length === 0;
    const most = limits.maxInsertedChars;
    const sized = isSized ? answer : { ...answer, chars: charsOf(answer.value, most) };
    this.#answers.set(key, sized);
    return sized;
  }

  async #resolveUnknown({ source }: Operand, answer: Missing): Promise<string> {
    const text = await this.embed(source, "throw");
    const isNoted = this.unresolved.some(({ reference }) => reference === source);
    if (!isNoted) this.#noteUnknown(source, answer);
    return text;
  }

  async #resolveAlternatives(
    alternatives: Alternatives,
    text: string,
    place: Place,
  ): Promise<Json> {
    if (alternatives.operator === "mixed") {
      const message = `${text} mixes || and &&; use one of them.`;
      throw new ReferenceProblem("bad_alternatives", message, { reference: text });
    }
    const missing: Unresolved[] = [];
    let last: { operand: Operand; answer: Found } | undefined;
    for (const operand of alternatives.operands) {
      const { source, reference } = operand;
      this.#count();
      const answer = await this.#find(reference);
      if (!answer.found && isRefused(answer)) throw problemFrom(source, answer);
      if (answer.found) last = { operand, answer };
      else missing.push({ reference: source, ...describe(source, answer) });
      if (answer.found && alternatives.operator === "first") break;
    }
    const isComplete = alternatives.operator === "first" || missing.length === 0;
    if (last !== undefined && isComplete) return this.#whole(last.operand, last.answer, place);
    const messages = missing.map((operand) => operand.message).join(" ");
    throw new ReferenceProblem("path_not_found", `${text}: ${messages}`, {
      reference: text,
      operands: missing,
    });
  }

  /** Replaces the references inside a text. `missing`: how to treat a known name with a path that does not exist. */
  async embed(text: string, missing: "throw" | "keep"): Promise<string> {
    const scanner = new Scanner({ syntaxes: this.#syntaxes, inCode: true });
    const urls = new UrlTracker();
    scanner.feed(text);
    scanner.end();
    const resolved: string[] = [];
    let tracked = 0;
    for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
      if (typeof piece === "string") {
        resolved.push(piece);
        await this.#noteUnread(piece);
        continue;
      }
      this.#count();
      const answer = await this.#find(piece.reference);
      if (!answer.found && answer.reason === "unknown") {
        if (!piece.escaped) this.#noteUnknown(piece.source, answer);
        resolved.push(scanner.reject());
        continue;
      }
      scanner.accept();
      if (piece.escaped) resolved.push(answer.found ? piece.source : `\\${piece.source}`);
      else if (answer.found) {
        for (; tracked < resolved.length; tracked++) urls.feed(resolved[tracked] ?? "");
        if (urls.isOpen) this.#options.onComposed?.();
        const text = this.#embeddedText(piece.source, answer);
        resolved.push(missing === "keep" && answer.inert === true ? inertText(text) : text);
      } else if (missing === "throw") throw problemFrom(piece.source, answer);
      else if (answer.reason === "secret") resolved.push(`[secret: ${piece.reference.name}]`);
      else {
        this.#note(piece.source, answer);
        resolved.push(piece.source);
      }
    }
    return resolved.join("");
  }

  #embeddedText(source: string, answer: Found): string {
    if ((answer.value as unknown) instanceof Uint8Array) {
      const message = `${source} is bytes and cannot stand inside of a text; pass it alone, as the whole string.`;
      throw new ReferenceProblem("bad_value", message, { reference: source });
    }
    const { value } = answer;
    const advice = `Pass ${source} alone, as the whole string.`;
    // Checked before the value is serialized.
    if (typeof value !== "string") check("maxEmbeddedChars", answer.chars ?? 0, advice);
    const text = renderText(value);
    check("maxEmbeddedChars", text.length, advice);
    this.#countInserted(text.length, "Pass large values alone, as whole strings.");
    this.#options.onResolved?.(source, { ...answer, chars: text.length });
    return text;
  }

  /** Returns the value, or its text, as it is. It still counts, because the tool holds it in memory. */
  async #whole({ source, reference }: Operand, found: Found, place: Place): Promise<Json> {
    this.#countInserted(found.chars ?? 0, "Pass fewer large values, or slices of them.");
    this.#options.onResolved?.(source, found);
    return (await this.#options.textFor?.(reference, found.value, place)) ?? found.value;
  }

  #countInserted(chars: number, advice: string): void {
    this.#chars += chars;
    check("maxInsertedChars", this.#chars, advice);
    this.#work.countInserted(chars);
  }

  #count(): void {
    this.#references++;
    const advice = "Pass one reference to a list instead.";
    check("maxItems", this.#references, advice);
  }

  #noteUnknown(source: string, missing: Missing): void {
    if (this.#options.unknown === "error") throw problemFrom(source, missing);
    this.#note(source, missing);
  }

  /** Text in braces whose name is known and whose path the grammar does not read stays as written, too. */
  async #noteUnread(text: string): Promise<void> {
    for (const { name: syntax } of this.#syntaxes) {
      const form = IN_BRACES.get(syntax);
      for (const [source, name = "", written = ""] of form ? text.matchAll(form) : []) {
        const rest = written.trimEnd();
        const { end, path } = matchPath({ text: rest, limit: rest.length, ended: true }, 0);
        const answer = end < rest.length && (await this.#find({ name, path }));
        if (!answer || (!answer.found && answer.reason === "unknown")) continue;
        const message = `${source} cannot be read: a key with other characters than letters, digits and _ is written in quotes, as in ${name}["a key"].`;
        this.unresolved.push({ reference: source, code: "bad_path", message });
      }
    }
  }

  #note(reference: string, missing: Missing): void {
    this.unresolved.push({ reference, ...describe(reference, missing) });
  }
}

/** True if the value exists but must not or cannot be returned. */
function isRefused({ reason }: Missing): boolean {
  return reason === "secret" || reason === "unreadable";
}

function check(limit: LimitName, actual: number, advice: string): void {
  const maximum = maxima[limit];
  if (actual <= maximum) return;
  const { code, message, details } = limitExceeded(limit, { maximum, actual, advice });
  throw new ReferenceProblem(code, message, details);
}

const PATH = String.raw`([A-Za-z_]\w{0,63})([.[][^{}\r\n]{0,400})`;

/** Text in braces that begins as a reference does, by syntax: the name and the rest. */
const IN_BRACES: ReadonlyMap<string, RegExp> = new Map([
  ["mustache", new RegExp(String.raw`(?<!\\)\{\{[ \t]*${PATH}\}\}`, "gu")],
  ["dollar", new RegExp(String.raw`(?<![\\$\w])\$\{${PATH}\}`, "gu")],
]);
