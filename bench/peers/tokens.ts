import { encode } from "gpt-tokenizer/encoding/o200k_base";

/** As a common model's vocabulary, `o200k_base`, cuts it; text that spells a control token is text. */
export function countTokens(text: string): number {
  return encode(text, { disallowedSpecial: new Set() }).length;
}
