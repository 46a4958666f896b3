import type { ReadResourceResult } from "@modelcontextprotocol/client";
import type { Json } from "../../../src/value/json.ts";

/** The variable that the model asked to show. */
export interface Shown {
  readonly name: string;
  readonly path?: string;
}

export type ReadValue =
  | { readonly kind: "json"; readonly value: Json; readonly isPart: boolean }
  | { readonly kind: "text"; readonly text: string; readonly isPart: boolean }
  | { readonly kind: "bytes"; readonly mediaType: string; readonly base64: string };

type ReadResource = (uri: string) => Promise<ReadResourceResult>;

/** Characters per request. The gateway sends at most 1,048,576. */
const PART_CHARS = 1_000_000;
/** Maximum characters of a value that a view loads. */
const MAX_CHARS = 16_000_000;
/** Number of elements shown of a larger array. */
const MAX_ELEMENTS = 1_000;

/** Returns undefined for an input without a variable. */
export function shownBy(input: Readonly<Record<string, unknown>> = {}): Shown | undefined {
  const { name, path } = input;
  if (typeof name !== "string") return undefined;
  const bare = name.replace(/^\$/, "");
  return typeof path === "string" ? { name: bare, path } : { name: bare };
}

/** Reads the value in parts. Returns the beginning of a value that is too large. */
export async function readVariable(read: ReadResource, shown: Shown): Promise<ReadValue> {
  const whole = await readText(read, shown);
  if (whole.base64 !== undefined) return { kind: "bytes", ...whole };
  const { text, isJson, isPart } = whole;
  if (!isJson) return { kind: "text", text, isPart };
  if (!isPart) return { kind: "json", value: JSON.parse(text) as Json, isPart };
  const { name, path = "" } = shown;
  const first = await readText(read, { name, path: `${path}[0:${MAX_ELEMENTS}]` });
  if (first.base64 !== undefined || first.isPart)
    throw new Error(`$${name} is too large to be shown.`);
  return { kind: "json", value: JSON.parse(first.text) as Json, isPart };
}

async function readText(read: ReadResource, { name, path }: Shown) {
  let text = "";
  for (;;) {
    const query = new URLSearchParams({
      ...(path !== undefined && { path }),
      offset: String(text.length),
      limit: String(PART_CHARS),
    });
    const uri = `byref://variables/${encodeURIComponent(name)}?${query.toString()}`;
    const [content] = (await read(uri)).contents;
    if (content === undefined) throw new Error(`$${name} could not be read.`);
    const { mimeType = "" } = content;
    if ("blob" in content) return { mediaType: mimeType, base64: content.blob };
    text += content.text;
    const isJson = mimeType === "application/json";
    if (content.text.length < PART_CHARS) return { text, isJson, isPart: false };
    if (text.length >= MAX_CHARS) return { text, isJson, isPart: true };
  }
}
