/** The fenced blocks of a guide in one language, as they stand there. */
export function fencedIn(markdown: string, language: string): readonly string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm");
  return Array.from(markdown.matchAll(fence), ([, text = ""]) => text);
}

/** The n-th of them, from 0. */
export function blockOf(markdown: string, language: string, index = 0): string {
  const block = fencedIn(markdown, language)[index];
  if (block === undefined) throw new Error(`There is no block ${index} in ${language}.`);
  return block;
}
