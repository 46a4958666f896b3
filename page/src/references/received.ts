import { formatPath, type Json, type Lookup, resolveReferences } from "../../../src/references.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { messageOf } from "../words.ts";
import type { Session } from "../session.ts";

const MAX_READ_CHARS = 20_000;
const MAX_SHOWN_CHARS = 700;
const FIRST_ELEMENTS = 3;

/** The value that replaced a reference, if it is still stored. */
export interface Received {
  /** Indented JSON, possibly clipped. */
  readonly text: string;
  /** Number of clipped characters. */
  readonly moreChars: number;
  /** Reasons why parts are missing. */
  readonly problems: readonly string[];
}

/** A reference as it is written, and the name of its variable. */
export interface Source {
  readonly source: string;
  readonly name: string;
}

/** Returns the references in a tool's input. */
export async function referencesIn(input: Json): Promise<readonly Source[]> {
  const names: string[] = [];
  const sources: string[] = [];
  const lookup: Lookup = ({ name }) => {
    names.push(name);
    return { found: true, value: "" };
  };
  const onResolved = (source: string) => sources.push(source);
  await resolveReferences(input, lookup, { onResolved }).catch(ignoreBadOnes);
  return sources.map((source, index) => ({ source, name: names[index] ?? "" }));
}

function ignoreBadOnes(): void {
  // Text that cannot be read as references is shown as written.
}

/** Resolves the references in a part of a tool's input to their current values. */
export async function received(
  { client, conversation }: Session,
  variables: ReadonlyMap<string, VariableInfo>,
  input: Json,
): Promise<Received> {
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
      const response = await client.conversation(conversation).variables.open(name, part);
      const isText = response.headers.get("content-type")?.startsWith("text/plain") === true;
      const { text, isWhole } = await beginningOf(response);
      if (isLong) moreChars += info.chars - text.length;
      if (isWhole) return { found: true, value: isText ? text : (JSON.parse(text) as Json) };
      moreChars += Math.max(0, (at === "" ? (info?.chars ?? 0) : 0) - text.length);
      return { found: true, value: `${text}…` };
    } catch (error) {
      problems.push(messageOf(error));
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
  if (body === null) return { text, isWhole: true };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  while (text.length <= MAX_READ_CHARS) {
    const { done, value } = await reader.read();
    if (done) return { text, isWhole: true };
    text += value;
  }
  await reader.cancel();
  return { text: text.slice(0, MAX_READ_CHARS), isWhole: false };
}
