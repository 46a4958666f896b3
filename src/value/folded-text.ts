import { Finder } from "./text-edit.ts";

/** A text that differs from a wanted one only in how it is written. */
export interface FoldedMatch {
  /** What differs, in words. */
  readonly kinds: readonly string[];
  /** The offset of the first difference. */
  readonly at: number;
  /** Both forms of it. */
  readonly text: string;
  readonly wanted: string;
}

/**
 * Finds a part of the text that differs from the wanted text only in line ends, white space, Unicode forms, quotes,
 * dashes or invisible characters. White space alone is not searched. Cost: linear.
 */
export function findFolded(text: string, wanted: string): FoldedMatch | undefined {
  const piece = folded(wanted).trim();
  const end = piece === "" ? -1 : new Finder(piece).nextEnd(folded(text), 0);
  if (end < 0) return undefined;
  const start = end - piece.length;
  let from = offsetOf(text, start, "start");
  let to = offsetOf(text, end - 1, "end");
  const [before = ""] = /^\s*/.exec(wanted) ?? [];
  const [after = ""] = /\s*$/.exec(wanted.slice(wanted.trimEnd().length)) ?? [];
  while (isBlank(text.charAt(from - 1), before)) from--;
  while (isBlank(text.charAt(to), after)) to++;
  const found = text.slice(from, to);
  return { kinds: kindsOf(found, wanted), ...firstDifference(found, wanted, from) };
}

/** White space; printable ASCII; a letter with the marks and invisible characters after it. */
const TOKENS = /\s+|[!-~]+(?![\p{M}\p{Cf}])|\P{M}[\p{M}\p{Cf}]*|\p{M}+/gsu;
const LETTERS = /\s+|\P{M}[\p{M}\p{Cf}]*|\p{M}+/gsu;
const LINE_END = /\r\n|\r|\n/g;

function folded(text: string): string {
  return text.replaceAll(TOKENS, fold);
}

/** Texts with the same NFKC have the same NFKD, which can be put together from that of their letters. */
function fold(token: string): string {
  if (/^[!-~]+$/.test(token)) return token;
  return /^\s/.test(token) ? " " : plain(token.normalize("NFKD"));
}

function plain(text: string): string {
  return text
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/[‘’‚‛ʹʼ′]/g, "'")
    .replaceAll(/[“”„‟″]/g, '"')
    .replaceAll(/[‐-―−]/g, "-");
}

/** Returns where a character of the folded text begins or ends in the text. */
function offsetOf(text: string, wanted: number, side: "start" | "end"): number {
  let before = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    const form = fold(token);
    if (before + form.length > wanted) {
      const isSame = form === token;
      if (side === "start") return index + (isSame ? wanted - before : 0);
      return index + (isSame ? wanted - before + 1 : token.length);
    }
    before += form.length;
  }
  return text.length;
}

/** True for white space that corresponds to the wanted one: line ends only if that has some. */
function isBlank(character: string, wanted: string): boolean {
  if (wanted === "" || character === "" || !/\s/.test(character)) return false;
  return !/[\r\n]/.test(character) || /[\r\n]/.test(wanted);
}

function kindsOf(found: string, wanted: string): readonly string[] {
  const differ = (form: (text: string) => unknown) =>
    JSON.stringify(form(found)) !== JSON.stringify(form(wanted));
  const kinds: string[] = [];
  if (differ((text) => text.match(LINE_END))) kinds.push("line ends");
  const blanks = (text: string) => text.replaceAll(LINE_END, "\n").match(/[^\S\n]+/g);
  if (differ(blanks)) kinds.push("white space");
  const solid = (text: string) => text.replaceAll(/\s+/g, "");
  if (!differ(solid)) return kinds;
  if (!differ((text) => solid(text).normalize("NFC"))) return [...kinds, "Unicode form (NFC, NFD)"];
  const isCompatible = !differ((text) => solid(text).normalize("NFKC"));
  return [
    ...kinds,
    isCompatible ? "Unicode form (NFKC)" : "quotes, dashes or invisible characters",
  ];
}

function firstDifference(found: string, wanted: string, from: number) {
  const own = found.match(LETTERS) ?? [];
  const others = wanted.match(LETTERS) ?? [];
  let at = from;
  for (const [index, text] of own.entries()) {
    const other = others[index] ?? "";
    if (text !== other) return { at, text, wanted: other };
    at += text.length;
  }
  return { at, text: "", wanted: others[own.length] ?? "" };
}
