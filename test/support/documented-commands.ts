import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fencesIn } from "./fences.ts";

const root = join(import.meta.dirname, "../..");

/** A command that a reader copies into a shell. */
export interface DocumentedCommand {
  /** File and line, in the form that editors open. */
  readonly at: string;
  /** All lines of the command, without a comment. */
  readonly command: string;
  /** The documented output. `…` matches anything. */
  readonly shown: string | undefined;
}

/** Returns the paths of the README and the guides, relative to the project. */
export function documents(): readonly string[] {
  const guides = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const isGuide = (name: string) => name.startsWith("guides/") && name.endsWith(".md");
  return ["README.md", ...guides.filter(isGuide).map((name) => `docs/${name}`)].toSorted();
}

/** A block that begins with one of these is for a shell, even without `sh` or `$`. */
const program = /^(?:[A-Z_]+=\S.* )?(?:curl|docker|npm|npx|seq|wrangler) /;

/** Returns all lines of `sh` blocks. In other blocks, commands follow a `$`, with their output below. */
export function commandsIn(path: string): readonly DocumentedCommand[] {
  return fencesIn(readFileSync(resolve(root, path), "utf8")).flatMap((fence) => {
    const { language, lines } = fence;
    const isShell = language === "sh" || (language === "" && program.test(lines[0] ?? ""));
    const found = isShell ? commandLines(lines) : prompted(lines);
    return found.map(({ line, ...rest }) => ({ at: `${path}:${fence.line + line}`, ...rest }));
  });
}

type Found = Omit<DocumentedCommand, "at"> & { readonly line: number };

function commandLines(block: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  for (let line = 0; line < block.length;) {
    const { command, length } = commandAt(block, line);
    if (command !== "") found.push({ line, command, shown: undefined });
    line += length;
  }
  return found;
}

function prompted(block: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  if (block[0]?.startsWith("$ ") !== true) return found;
  const plain = block.map((line) => line.replace(/^\$ /, ""));
  const isPrompt = (line: string) => line.startsWith("$ ");
  for (let line = 0; line < block.length;) {
    const { command, length } = commandAt(plain, line);
    const next = block.findIndex((other, index) => index >= line + length && isPrompt(other));
    const shown = block.slice(line + length, next === -1 ? block.length : next).join("\n");
    found.push({ line, command, shown: shown.trim() === "" ? undefined : shown });
    line = next === -1 ? block.length : next;
  }
  return found;
}

/** A command continues while a quote is open, or after a backslash. */
function commandAt(lines: readonly string[], first: number) {
  for (let length = 1; ; length++) {
    const text = lines.slice(first, first + length).join("\n");
    const { isOpen, comment } = scan(text);
    if (!isOpen) return { command: text.slice(0, comment).trim(), length };
    if (first + length >= lines.length) throw new Error(`A command without an end: ${text}`);
  }
}

/** Reads quotes like a shell. `comment` is the start of a comment outside of quotes. */
function scan(text: string): { readonly isOpen: boolean; readonly comment: number } {
  let quote = "";
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === "\\" && quote !== "'") {
      index++;
      if (index >= text.length) return { isOpen: true, comment: text.length };
    } else if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === "'" || character === '"') {
      quote = character;
    } else if (character === "#" && /(^|\s)$/.test(text.slice(0, index))) {
      return { isOpen: false, comment: index };
    }
  }
  return { isOpen: quote !== "", comment: text.length };
}

/** True if the output is as documented. JSON may be formatted differently. */
export function isAsShown(shown: string, output: string): boolean {
  const got = tidied(output);
  const isJson = /^[[{]/.test(got);
  const compact = (text: string) => (isJson ? text.replaceAll(/\s+/g, "") : text);
  return fits(compact(tidied(shown)).split("…"), compact(got));
}

function tidied(text: string): string {
  return text.replaceAll(/[ \t\r]+$/gm, "").trim();
}

/** The parts between `…` must appear in order, the first at the beginning and the last at the end. */
function fits([first = "", ...others]: readonly string[], text: string): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return text.endsWith(last) && text.length - last.length >= from;
}

/** The demo's weather depends on the month, so documented values would be wrong in the next one. */
export function isOfThisMonth(shown: string): boolean {
  return /\d °C|\d %|"(?:temperature|feels_like|humidity|difference)": ?[\d.]/.test(shown);
}
