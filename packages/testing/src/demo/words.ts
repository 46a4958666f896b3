/** A piece of a question. */
export interface Token {
  readonly kind: "word" | "number" | "quoted" | "reference" | "sign";
  /** The token as written. A quoted text has no quotes. */
  readonly text: string;
  /** The text in lower case. */
  readonly word: string;
  /** The word without an English plural. */
  readonly stem: string;
}

const PIECES =
  /"(?<double>[^"]{1,200})"|“(?<curly>[^”]{1,200})”|(?<![\p{L}\p{N}])['‘](?<single>[^'’]{1,200})['’](?![\p{L}\p{N}])|\$(?<reference>[A-Za-z_]\w*)|(?<word>[\p{L}\p{M}\p{N}_]+(?:(?:[-'’@.&/:]|(?<=\d),(?=\d{3}(?!\d)))[\p{L}\p{M}\p{N}_]+)*)|\S/gu;
const NUMBER = /^\d+(?:,\d{3})*(?:\.\d+)?$/u;

/** Splits a question into words, numbers, quoted texts, references and signs. Cost: linear. */
export function tokensOf(question: string): readonly Token[] {
  const tokens = Array.from(
    question.replace(WISH, "").matchAll(PIECES),
    ({ 0: all, groups = {} }) => {
      const { double, curly, single, reference, word } = groups;
      const quoted = double ?? curly ?? single;
      if (quoted !== undefined) return token("quoted", quoted.trim());
      if (reference !== undefined) return token("reference", reference);
      if (word === undefined) return token("sign", all);
      return NUMBER.test(word)
        ? token("number", word)
        : token("word", word.replace(/['’]s$/iu, ""));
    },
  );
  const last = tokens.findLastIndex(({ word }) => !END.has(word));
  return tokens.slice(0, last + 1).filter((one, index) => !isPause(one, tokens[index - 1]));
}

/** The words of a tool's, a variable's or a column's name, without plurals: `openOrders_2` is open, order, 2. */
export function wordsOfName(name: string): readonly string[] {
  const apart = name.replaceAll(/(\p{Ll})(?=\p{Lu})/gu, "$1 ");
  return Array.from(apart.matchAll(/\p{L}[\p{L}\p{M}]*|\p{N}+/gu), ([word]) =>
    stemOf(word.toLowerCase()),
  );
}

/** True for words that a question has without saying anything by them. */
export function isFiller({ kind, text, word }: Token): boolean {
  return kind === "word" && !isCapitals(text) && FILLERS.has(word);
}

/** True for the words before a place, an owner or a subject: in, from, for, of. */
export function isPreposition({ kind, text, word }: Token): boolean {
  return kind === "word" && !isCapitals(text) && PREPOSITIONS.has(word);
}

/** True for words that never occur in a value, because they change the meaning of their neighbours. */
export function isTelling({ kind, word, stem }: Token): boolean {
  if (kind === "quoted") return false;
  return /n['’]t$|^(?:non|un)-/u.test(word) || TELLING.has(word) || TELLING.has(stem);
}

/**
 * Returns the number of tokens from `at` on that match these words, or 0 unless all words match. Signs may be between
 * them, as in "Amount (EUR)".
 */
export function phraseAt(tokens: readonly Token[], at: number, words: readonly string[]): number {
  let end = at;
  let closing = "";
  for (const word of words) {
    for (; end > at && SIGNS.has(tokens[end]?.text ?? ""); end++) {
      closing = CLOSING.get(tokens[end]?.text ?? "") ?? closing;
    }
    const token = tokens[end];
    if (token === undefined || token.kind === "quoted" || token.stem !== word)
      return joinedAt(tokens[at], words);
    end++;
  }
  if (closing !== "" && tokens[end]?.text === closing) end++;
  return end - at;
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["[", "]"],
]);
const SIGNS: ReadonlySet<string> = new Set([...CLOSING.keys(), "/", "&", "-", ":", "#"]);

/** "record" or "records". */
export function recordsFor(count: number): string {
  return count === 1 ? "record" : "records";
}

/** The number that a token is. */
export function numberOf({ text }: Token): number {
  return Number(text.replaceAll(",", ""));
}

/** The words of a list in a text, as a set. */
function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

const WISH = /^\s*i(?:['’]d| would)? (?:want|like) to (?:know|see)\b/iu;
const END = wordSet("? ! . , please thanks");
const FILLERS = wordSet(
  "please can could would you i me my our the a an is are was were be there do does did have has had what what's what’s whats which show list give tell get see find display print fetch all any every only just also that hi hello hey am thanks",
);
const PREPOSITIONS = wordSet("in from for of");
const TELLING = wordSet(
  "on to not no non dont null empty missing blank unset none never neither nor without except excluding exclude excludes besides but other others another than or either unless if before after since until till between during over under above below beyond within around more less fewer greater smaller larger bigger higher lower cheaper most least at top bottom first last next previous prior earliest latest newest oldest recent recently second third ago today yesterday tomorrow tonight now week weekly month monthly quarter quarterly year yearly day daily hour hourly january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday percent percentage share ratio rate median mode distinct unique different same both half twice double per each by as with whose where who whom why when how sum total average mean avg count number maximum max minimum min highest lowest largest smallest biggest greatest sort sorted order-by versus vs compare compared trend growth increase decrease change instead again them they these those it this then maybe roughly approximately almost nearly exactly and too however while likely contain contains containing starting starts ending ends begins beginning like equal equals delete remove cancel every many much some few several",
);

function token(kind: Token["kind"], text: string): Token {
  const word = text.toLowerCase();
  return { kind, text, word, stem: stemOf(word) };
}

function stemOf(word: string): string {
  if (word.length < 4 || /(?:ss|us|is)$/u.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return /(?:s|x|z|ch|sh)es$/u.test(word) ? word.slice(0, -2) : word.replace(/s$/u, "");
}

/** `US` is a country, `us` a filler. */
function isCapitals(text: string): boolean {
  return text.length > 1 && text === text.toUpperCase() && text !== text.toLowerCase();
}

/** True for a comma after "please" or "hello", which has no meaning. */
function isPause({ word }: Token, before: Token | undefined): boolean {
  return word === "," && before !== undefined && isFiller(before);
}

/** A name may be written as it is: `placed_at`, `e-mail`. */
function joinedAt(token: Token | undefined, words: readonly string[]): number {
  if (token?.kind !== "word" || words.length < 2 || !/[_\-./&:]/u.test(token.text)) return 0;
  return wordsOfName(token.text).join(" ") === words.join(" ") ? 1 : 0;
}
