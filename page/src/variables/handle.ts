import { bytesInWords, figure } from "../words.ts";

/** A handle, in words. */
export interface HandleWords {
  readonly name: string;
  /** The value's type and size. Undefined for a small value, and for one that is hidden from models. */
  readonly size: string | undefined;
  readonly preview: string | undefined;
  readonly visibility: string | undefined;
}

/** Describes a handle. Returns undefined for other outputs. */
export function handleIn(output: unknown): HandleWords | undefined {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  const fields = output as Readonly<Record<string, unknown>>;
  const { $var: name, type, count, bytes, preview, visibility } = fields;
  const isKnown = typeof count === "number" && typeof bytes === "number";
  return {
    name: String(name),
    size: isKnown ? `${String(type)} of ${figure(count)}, ${bytesInWords(bytes)}` : undefined,
    preview: textIn(preview),
    visibility: textIn(visibility),
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
