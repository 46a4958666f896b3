import { bytesInWords, figure } from "../words.ts";

/** From this size on, calls show the size of a value beside its name. */
export const LARGE_BYTES = 10_000;

/** Describes a handle. Returns undefined for other outputs. */
export function handleIn(output: unknown) {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  const fields = output as Readonly<Record<string, unknown>>;
  const { $var: name, type, count, bytes, preview, visibility } = fields;
  const isKnown = typeof count === "number" && typeof bytes === "number";
  return {
    name: String(name),
    // Undefined for a small value, and for one that is hidden from models.
    size: isKnown ? `${String(type)} of ${figure(count)}, ${bytesInWords(bytes)}` : undefined,
    preview: textIn(preview),
    visibility: textIn(visibility),
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
