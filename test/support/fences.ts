/** A fenced block of Markdown, without the indentation of its fence. */
interface Fence {
  readonly language: string;
  /** Line number of its first content line, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

/** Returns all fenced blocks of a document, including those in lists. Throws if a block has no end. */
export function fencesIn(markdown: string): readonly Fence[] {
  const lines = markdown.split("\n");
  const fences: Fence[] = [];
  for (let index = 0; index < lines.length; index++) {
    const [fence, indent = "", language = ""] = /^( *)```(\w*)/.exec(lines[index] ?? "") ?? [];
    if (fence === undefined) continue;
    const begin = index + 1;
    const end = lines.indexOf(`${indent}\`\`\``, begin);
    if (end === -1) throw new Error(`Line ${begin}: a block without an end.`);
    const block = lines.slice(begin, end).map((line) => line.slice(indent.length));
    fences.push({ language, line: begin + 1, lines: block });
    index = end;
  }
  return fences;
}

/** Returns the texts of the blocks in one language. */
export function fencedIn(markdown: string, language: string): readonly string[] {
  const own = fencesIn(markdown).filter((fence) => fence.language === language);
  return own.map(({ lines }) => `${lines.join("\n")}\n`);
}

/** Returns the n-th block in a language, from 0. */
export function blockOf(markdown: string, language: string, index = 0): string {
  const block = fencedIn(markdown, language)[index];
  if (block === undefined) throw new Error(`There is no block ${index} in ${language}.`);
  return block;
}
