import { createHash } from "node:crypto";

/** The start of the text's SHA-256, 16 hexadecimal digits: a name for a file or an entry. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
