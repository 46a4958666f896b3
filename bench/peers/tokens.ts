import { encode } from "gpt-tokenizer/encoding/o200k_base";

/** Counts tokens with `o200k_base`, a common vocabulary. Text that spells a control token counts as text. */
export function countTokens(text: string): number {
  return encode(text, { disallowedSpecial: new Set() }).length;
}
