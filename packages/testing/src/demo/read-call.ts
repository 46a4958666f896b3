import { type Callable, type CallReading, CallReader, POLITE } from "./call-reader.ts";
import { parametersOf } from "./parameters.ts";
import { PLAIN, READING } from "./tables.ts";
import { type Token, wordsOfName } from "./words.ts";

/** A tool's name as words, and whether it only reads. */
interface Named {
  readonly words: readonly string[];
  readonly verb: string | undefined;
}

/** Reads the question as a call of the tool. Undefined if it does not name the tool. */
export function readCall(
  tokens: readonly Token[],
  { tool, tables }: Callable,
): CallReading | undefined {
  const parameters = parametersOf(tool.inputSchema);
  const named = nameOf(tool.name);
  const known = new Set(parameters.flatMap(({ words }) => words));
  const needed = named.words.filter((word) => !PLAIN_PARTS.has(word) && !known.has(word));
  const stems = new Set(tokens.map(({ stem }) => stem));
  const isNamed = needed.length > 0 && needed.every((word) => stems.has(word));
  const reads = named.verb !== undefined || ASKING.has(tokens[0]?.word ?? "");
  if (isNamed && (reads || isOrder(tokens, named.words))) {
    return new CallReader(tokens, { tool, tables, parameters, words: named.words, reads }).read();
  }
  // A tool that only looks something up may also be meant by what its description is about.
  const described = named.verb === undefined ? [] : describedBy(tool.description ?? "");
  if (!described.some((word) => stems.has(word))) return undefined;
  const read = new CallReader(tokens, { tool, tables, parameters, words: described, reads }).read();
  const isFull = read.rest.length === 0 && read.missing.length === 0;
  return isFull && parameters.some(({ isRequired }) => isRequired) ? read : undefined;
}

/** True if the tool only reads and requires no input, so that a question can be about its result. */
export function isList({ tool, missing }: CallReading): boolean {
  const needsNothing = parametersOf(tool.inputSchema).every(({ isRequired }) => !isRequired);
  return needsNothing && missing.length === 0 && nameOf(tool.name).verb !== undefined;
}

/** Words of a tool's name that a question need not have. */
const PLAIN_PARTS = new Set([...PLAIN, ..."all by for of in from to the a an id".split(" ")]);

function nameOf(name: string): Named {
  const [first = "", ...others] = wordsOfName(name);
  return READING.has(first)
    ? { verb: first, words: others }
    : { verb: undefined, words: [first, ...others] };
}

/** True for "please delete …", not for "how do I delete …": such a tool may change something. */
function isOrder(tokens: readonly Token[], [verb]: readonly string[]): boolean {
  const first = tokens.findIndex(({ word, stem }) => stem === verb || !POLITE.has(word));
  const token = tokens[first];
  return token !== undefined && token.stem === verb;
}

/** Words that are followed by a thing, not by an action. */
const ASKING = new Set("what what's what’s whats show".split(" "));

function describedBy(description: string): readonly string[] {
  if (/\b(?:not|never|no|without|except|only)\b|n['’]t\b/iu.test(description)) return [];
  return wordsOfName(description).filter((word) => word.length > 3 && !READING.has(word));
}
