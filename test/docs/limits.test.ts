import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";

/** `npx vitest run -u test/docs/limits.test.ts` writes the page again. */
it("docs/limits.md is made of src/limits.ts", async () => {
  await expect(pageOf(readFileSync("src/limits.ts", "utf8"))).toMatchFileSnapshot(
    "../../docs/limits.md",
  );
});

it("every limit has a comment, and so a row", () => {
  const page = pageOf(readFileSync("src/limits.ts", "utf8"));
  expect(Object.keys(limits).filter((name) => !page.includes(`\n| \`${name}\` | `))).toEqual([]);
});

const START = `# Limits

One limit for each kind of thing. \`limits\` of \`byref\` has them as constants, and a \`limit_exceeded\` error names the one that was exceeded ([errors](errors.md)). \`Chars\` are UTF-16 code units, \`Bytes\` are in UTF-8, \`Ms\` milliseconds. This page is made of [\`src/limits.ts\`](../src/limits.ts).
`;

function pageOf(source: string): string {
  const pattern = /^\/\/ --- (.+) ---$|^\/\*\*((?:(?!\*\/)[^])+)\*\/\nexport const (\w+)/gm;
  const lines = Array.from(source.matchAll(pattern), ([, section, comment = "", name = ""]) => {
    if (section !== undefined)
      return `\n## ${section}\n\n| limit | value | of what |\n|---|---|---|`;
    const words = comment.replaceAll(/\s*\n \* ?/g, " ").trim();
    return `| \`${name}\` | ${valueOf(Reflect.get(limits, name))} | ${words} |`;
  });
  return `${START}${lines.join("\n")}\n`;
}

function valueOf(limit: unknown): string {
  return typeof limit === "number"
    ? limit.toLocaleString("en")
    : JSON.stringify(limit)
        .replaceAll(/["{}]/g, "")
        .replaceAll(/(?=[:,])(.)/g, "$1 ");
}
