import { type JSONSchema7, type OutputInterface as Output, parsePartialJson } from "ai";
import * as limits from "../../../../src/limits.ts";
import {
  createExpander,
  type ExpansionBudget,
  type Json,
  type Reference,
} from "../../../../src/references.ts";
import {
  charsOf,
  json,
  LookupWork,
  pickSyntaxes,
  type Place,
  type VariableStore,
  wholeReference,
} from "../../../../src/internal.ts";
import { jsonSchemas, knownNamesOf, widenSchema } from "../../../../src/internal-tool.ts";
import { type ExpandingOptions, expandText, lookupFor } from "./expand-answer.ts";

/** Replaces the references in structured answers. */
export class ObjectExpander {
  readonly #store: VariableStore;
  readonly #options: ExpandingOptions;
  readonly #schema: JSONSchema7;

  /** `schema`: of the answers, with values in place of references. */
  constructor(store: VariableStore, options: ExpandingOptions, schema: JSONSchema7 = {}) {
    this.#store = store;
    this.#options = options;
    this.#schema = schema;
  }

  /**
   * Returns the answer with values in place of its references. A string that is one reference becomes the value
   * itself, except where the schema takes only text. All others become text, as in any answer. References that
   * cannot be resolved stay as written.
   */
  expand(answer: unknown): Promise<unknown> {
    return this.#expanded(answer, { ...this.#begin(), isOpen: false });
  }

  /** Expands a part of an answer, of which the last text may go on. What is not known of it is left out. */
  async expandPart(part: unknown): Promise<unknown> {
    const expanded = await this.#expanded(part, { ...this.#begin(), isOpen: true });
    return expanded === UNKNOWN ? undefined : expanded;
  }

  #begin(): Omit<At, "isOpen"> {
    return { place: [], budget: { leftChars: limits.maxInsertedChars, work: new LookupWork() } };
  }

  async #expanded(value: unknown, at: At): Promise<unknown> {
    if (typeof value === "string") return this.#text(value, at);
    const isList = Array.isArray(value);
    if (!isList && (!json.isObject(value) || Object.getPrototypeOf(value) !== Object.prototype)) {
      return value;
    }
    const known: (readonly [key: string | number, inner: unknown])[] = [];
    const entries = isList ? [...value.entries()] : Object.entries(value);
    for (const [index, [key, inner]] of entries.entries()) {
      const isOpen = at.isOpen && index === entries.length - 1;
      const expanded = await this.#expanded(inner, { ...at, place: [...at.place, key], isOpen });
      if (expanded !== UNKNOWN) known.push([key, expanded]);
    }
    return isList ? known.map(([, inner]) => inner) : Object.fromEntries(known);
  }

  async #text(text: string, at: At): Promise<unknown> {
    const { budget, isOpen } = at;
    const whole = wholeReference(text, pickSyntaxes(this.#options.syntaxes));
    const value = whole && !isOpen ? await this.#value(whole.reference, at) : undefined;
    if (value !== undefined) return value;
    const options = { ...this.#options, ...knownNamesOf(this.#store), budget };
    const expander = createExpander(this.#lookup, options);
    const known = await expander.push(text);
    if (isOpen) return known === "" && text !== "" ? UNKNOWN : known;
    return known + (await expander.end());
  }

  /** Returns the value of a whole reference; undefined if its text is to be in its place. */
  async #value(reference: Reference, { place, budget }: At): Promise<Json | undefined> {
    const found = await this.#lookup(reference, budget.work);
    if (!found.found || typeof found.value === "string") return undefined;
    if (jsonSchemas.takesTextOnly(this.#schema, place, found.value)) return undefined;
    const chars = charsOf(found.value, budget.leftChars);
    if (chars > budget.leftChars) return undefined;
    budget.leftChars -= chars;
    return found.value;
  }

  get #lookup() {
    return lookupFor(this.#store, this.#options);
  }
}

/** Stands for a text that begins with a reference whose end is not known yet. */
const UNKNOWN = Symbol("unknown");

interface At {
  readonly place: Place;
  /** Of the whole answer. */
  readonly budget: ExpansionBudget;
  /** True if the last text at this place may go on. */
  readonly isOpen: boolean;
}

/** Returns the schema of structured answers as a model is shown it: any part of them may be a reference. */
export function widenAnswer(
  schema: JSONSchema7,
  { syntaxes }: Pick<ExpandingOptions, "syntaxes">,
): JSONSchema7 {
  const options = json.compact({ syntaxes });
  const { items, ...others } = schema;
  if (schema.type !== "array" || items === undefined) return widenSchema(schema, options);
  // Only the properties of an object are widened.
  const asObject = { ...others, type: "object" as const, properties: { items: items as object } };
  const { properties } = widenSchema(asObject, options);
  return { ...schema, items: properties?.items ?? items };
}

/**
 * Returns the output of an agent, or of `generateText` and `streamText`, for a model that writes references. They
 * are replaced before the output's own schema validates them. Partial outputs and elements have values, too, but
 * not parts of a text.
 */
export function expandOutput<Complete, Partial, Element>(
  output: Output<Complete, Partial, Element>,
  store: VariableStore,
  options: ExpandingOptions = {},
): Output<Complete, Partial, Element> {
  const format = Promise.resolve(output.responseFormat);
  const openings = pickSyntaxes(options.syntaxes).map(({ opening }) => opening);
  /** Returns the JSON with values. The end of a part is left out, because the part may go on. */
  const expanded = async (text: string, isPart: boolean): Promise<string> => {
    if (!openings.some((opening) => text.includes(opening))) return text;
    const found = await format;
    if (found?.type !== "json") return isPart ? text : expandText(text, store, options);
    const { value, state } = await parsePartialJson(text);
    const expander = new ObjectExpander(store, options, found.schema);
    if (state === "successful-parse") return JSON.stringify(await expander.expand(value));
    const part = state === "repaired-parse" ? await expander.expandPart(value) : undefined;
    return part === undefined ? text : JSON.stringify(part).replace(/[\]}"]$/u, "");
  };
  return {
    ...output,
    responseFormat: format.then((found) =>
      found?.type === "json" && found.schema !== undefined
        ? { ...found, schema: widenAnswer(found.schema, options) }
        : found,
    ),
    parseCompleteOutput: async ({ text }, context) =>
      output.parseCompleteOutput({ text: await expanded(text, false) }, context),
    parsePartialOutput: async ({ text }) =>
      output.parsePartialOutput({ text: await expanded(text, true) }),
  };
}
