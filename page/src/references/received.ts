import {
  formatPath,
  type Json,
  type Lookup,
  referencesIn,
  resolveReferences,
} from "../../../src/references.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { problemWords } from "../words.ts";

const MAX_READ_CHARS = 20_000;
const MAX_SHOWN_CHARS = 700;
const FIRST_ELEMENTS = 3;

/** A reference as it is written, and the name of its variable. */
export interface Source {
  readonly source: string;
  readonly name: string;
}

/** Returns the references in a tool's input, which is JSON. Text that cannot be read as references has none. */
export async function sourcesIn(input: string): Promise<readonly Source[]> {
  const texts: string[] = [];
  JSON.parse(input, (_, value: unknown) => typeof value === "string" && texts.push(value));
  const lookup: Lookup = () => ({ found: true, value: "" });
  const found = texts.map((text) => referencesIn(text, lookup));
  return (await Promise.all(found.map((one) => one.catch(() => [])))).flat();
}

/** Resolves the references in a part of a tool's input to their current values, as indented and clipped JSON. */
export async function received(
  { conversation }: Session,
  variables: ReadonlyMap<string, VariableInfo>,
  input: Json,
) {
  /** Reasons why parts are missing. */
  const problems: string[] = [];
  let moreChars = 0;
  const lookup: Lookup = async ({ name, path }) => {
    const info = variables.get(name);
    if (info?.type === "bytes") return { found: true, value: `[${info.bytes} bytes]` };
    try {
      const at = formatPath(path);
      // The first elements of a long array are more readable than its first characters.
      const isLong = info?.type === "array" && info.bytes > MAX_READ_CHARS && at === "";
      const whole = at === "" ? {} : { path: at };
      const part = isLong ? { limit: FIRST_ELEMENTS } : whole;
      const response = await conversation.variables.open(name, part);
      const isText = response.headers.get("content-type")?.startsWith("text/plain") === true;
      const { text, isWhole } = await beginningOf(response);
      if (isLong) moreChars += info.chars - text.length;
      if (isWhole) return { found: true, value: isText ? text : (JSON.parse(text) as Json) };
      moreChars += Math.max(0, (at === "" ? (info?.chars ?? 0) : 0) - text.length);
      return { found: true, value: `${text}…` };
    } catch (error) {
      problems.push(problemWords(error));
      return { found: false, reason: "unknown" };
    }
  };
  const { value } = await resolveReferences(input, lookup);
  const isCut = moreChars > 0 && typeof value === "string";
  const whole = isCut ? value : JSON.stringify(value, null, 2);
  const text = whole.slice(0, MAX_SHOWN_CHARS);
  return { text, moreChars: moreChars + whole.length - text.length, problems };
}

/** Returns the beginning of a body, because a value can have megabytes. */
async function beginningOf({ body }: Response) {
  let text = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  while (text.length <= MAX_READ_CHARS) {
    const { done, value = "" } = (await reader?.read()) ?? { done: true };
    if (done) return { text, isWhole: true };
    text += value;
  }
  await reader?.cancel();
  return { text: text.slice(0, MAX_READ_CHARS), isWhole: false };
}
