import { marked } from "marked";
import { describe, expect, it } from "vitest";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { receiveMessage } from "../../src/turn/history/receive-message.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";

const QUESTION = "Which month was best?";
const records = Array.from({ length: 400 }, (_, index) => ({
  id: `o${index}`,
  total: index / 4,
  note: index % 3 === 0 ? 'big, "red"' : "none",
}));
const csv = (character: string) => {
  const cell = (value: unknown) =>
    /[",;]/.test(`${value}`) ? `"${`${value}`.replaceAll('"', '""')}"` : `${value}`;
  return [
    "id,total,note".split(",").join(character),
    ...records.map((one) => Object.values(one).map(cell).join(character)),
  ].join("\n");
};
const markdown = [
  "| id | total | note |",
  "|:---|---:|---|",
  ...records.map(({ id, total, note }) => `| ${id} | ${total} | ${note.replace(",", " \\| ")} |`),
].join("\n");
const prose =
  "It was a long day, and nobody knew why.\nStill, the shop was open; it had to be.\n".repeat(60);
const code = `\tdef total(rows):\n${"\t\tn += 1\n".repeat(600)}\t\treturn n`;
const big = `{"id": 12345678901234567890, "items": [${"1.10, ".repeat(1_000)}2]}`;

async function received(text: string, messageChars?: number) {
  const store = new MemoryStore({ csv: csvRecords });
  const { parts, display } = await receiveMessage([{ type: "text", text }], {
    store,
    conversation: "c",
    messageChars,
  });
  const [info] = store.list();
  const [shown] = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { info, shown, display, value: info && (await store.read(info.name)) };
}

describe("a long text of a person", () => {
  it.each<readonly [what: string, paste: string, value: Json]>([
    ["a CSV", csv(","), records],
    ["a CSV with semicolons", csv(";"), records],
    ["a TSV", csv("\t"), records],
    ["JSON", JSON.stringify(records), records],
    ["JSON on many lines", JSON.stringify(records, undefined, 2), records],
    ["JSON with long numbers", big, parsedJson(big)],
    ["NDJSON", records.map((one) => JSON.stringify(one)).join("\n"), records],
    ["prose", prose.trim(), prose.trim()],
    [
      "a list",
      "- one, two\n- three\n".repeat(300).trim(),
      "- one, two\n- three\n".repeat(300).trim(),
    ],
    ["indented code (sdelements/lets-chat#391)", code, code],
    ["statements", "let a = b;\n".repeat(400).trim(), "let a = b;\n".repeat(400).trim()],
    [
      "JSON that is cut off",
      JSON.stringify(records).slice(0, -1),
      JSON.stringify(records).slice(0, -1),
    ],
    ["a CSV whose last row is too long", `${csv(",")}\n1,2,3,4`, `${csv(",")}\n1,2,3,4`],
  ])("keeps %s as a value, and the question as text", async (_, paste, value) => {
    for (const [text, isText] of [
      [`${QUESTION}\n\n${paste}`, true],
      [`${paste}\n\n${QUESTION}`, true],
      [`${QUESTION}\r\n\r\n${paste}\r\n\r\n${QUESTION}`, true],
      [`${QUESTION}\n\`\`\`csv\n${paste}\n\`\`\`\n`, true],
      [paste, false],
    ] as const) {
      const { info, shown, display, value: kept } = await received(text);
      expect(kept).toEqual(value);
      expect(info).toMatchObject({ name: isText ? "paste_1" : "message_1", sources: ["user"] });
      expect(shown?.startsWith(QUESTION)).toBe(isText);
      expect(shown).toContain(`"$var":"${info?.name}"`);
      expect(display).toEqual([text]);
    }
  });

  it("reads a Markdown table as marked does", async () => {
    const { value } = await received(`${QUESTION}\n\n${markdown}`);
    const [table] = marked.lexer(markdown);
    const rows = table?.type === "table" ? table.rows : [];
    const cells = (row: readonly { readonly text: string }[]) => row.map(({ text }) => text);
    expect((value as Record<string, Json>[]).map((one) => Object.values(one).map(String))).toEqual(
      rows.map(cells),
    );
    expect(rows.length).toBe(400);
  });

  it.each([
    [4_000, undefined, false],
    [4_001, undefined, true],
    [4_001, 5_000, false],
    [101, 100, true],
  ])("of %i characters, with the limit %s: a variable %s", async (chars, limit, isKept) => {
    const { info, shown, display } = await received("a".repeat(chars), limit);
    expect([info !== undefined, display !== undefined]).toEqual([isKept, isKept]);
    expect(shown === "a".repeat(chars)).toBe(!isKept);
  });

  it.each([
    ["fences", "```\n".repeat(300_000)],
    ["quotes", `a,b\n${'"'.repeat(600_000)}\nc,d\n`],
    ["white space", `a|b\n${" ".repeat(400_000)}|\nc|d\n`],
    ["brackets", "[".repeat(500_000)],
    ["blank lines", "\n \n".repeat(300_000)],
  ])("of many %s is kept as it is", async (_, text) => {
    const { value } = await received(text);
    expect(typeof value).toBe("string");
    expect(text).toContain(value as string);
  });
});
