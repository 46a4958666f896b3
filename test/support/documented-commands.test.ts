import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { commandsIn, isAsShown, isOfThisMonth } from "./documented-commands.ts";
import { temporaryFolder } from "./server.ts";

const folder = temporaryFolder();
const path = join(folder, "document.md");

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(text: string) {
  writeFileSync(path, text);
  return commandsIn(path).map(({ at, ...rest }) => ({
    ...rest,
    line: Number(at.split(":").at(-1)),
  }));
}

describe("the commands of a document", () => {
  it("are all lines of a shell block, without comments", () => {
    const text = "# A\n\n```sh\none 'a # b' # why\n\n# nothing\ntwo \\\n  three\n```\n";
    expect(read(text)).toEqual([
      { line: 4, command: "one 'a # b'", shown: undefined },
      { line: 7, command: "two \\\n  three", shown: undefined },
    ]);
  });

  it("follow a $ elsewhere, with the output below", () => {
    const text =
      "```\n$ one '{\n  \"a\": 1}'\nsaid\n\nmore\n$ two\n```\n\n```ts\nconst no = 1;\n```\n";
    expect(read(text)).toEqual([
      { line: 2, command: "one '{\n  \"a\": 1}'", shown: "said\n\nmore" },
      { line: 7, command: "two", shown: undefined },
    ]);
  });

  it("are found in a block without a language", () => {
    const found = ["curl x", "MODEL=a MODEL_API_KEY=… npm start", "npx wrangler login"];
    for (const command of found) {
      expect(read(`\`\`\`\n${command}\n\`\`\`\n`)).toEqual([
        { line: 2, command, shown: undefined },
      ]);
    }
    expect(read("```\nready http://localhost:8787\n\n  curl x\n```\n")).toEqual([]);
  });

  it("are found in lists", () => {
    expect(read("1. so:\n\n   ```sh\n   one\n   ```\n")).toEqual([
      { line: 4, command: "one", shown: undefined },
    ]);
  });

  it("have an end, or the document is invalid", () => {
    expect(() => read("```sh\none 'a\n```\n")).toThrow("without an end");
    expect(() => read("```sh\none\n")).toThrow("without an end");
  });
});

describe("documented output", () => {
  it.each([
    ["9 things", "9 things\n", true],
    ["9 things", "8 things\n", false],
    ["9 things", "9 things and more\n", false],
    ["a…z", "a\nb\nz", true],
    ["a…z", "a\nb\nzz?", false],
    ["a.c", "abc", false],
    ['{"a": 1,\n "b": …}', '{"a":1,"b":[2]}', true],
    ['{"a": 1}', '{"a":2}', false],
    ["a  b", "a b", false],
  ])("%j of %j: %s", (shown, output, expected) => {
    expect(isAsShown(shown, output)).toBe(expected);
  });

  it.each([
    ["It is 9 °C in New York with 62 % humidity.", true],
    ['{"temperature": 9}', true],
    ["It is … °C in New York with … % humidity.", false],
  ])("%j holds only in some months: %s", (shown, expected) => {
    expect(isOfThisMonth(shown)).toBe(expected);
  });
});
