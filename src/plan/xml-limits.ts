/** What a capability workflow may be made of. Text in UTF-16 code units. */
export const xmlLimits = {
  maxTextChars: 1_048_576,
  maxAttributes: 64,
  maxAttributeChars: 65_536,
  maxBodyChars: 524_288,
  /** A text with more faults than these is no workflow; the rest of it is not read. */
  maxFindings: 50,
  /** Of a model's text so much is held back as one tag; what is longer is text. */
  maxTagChars: 65_536,
} as const;
