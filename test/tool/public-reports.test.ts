import { describe, expect, it } from "vitest";
import { ByrefError } from "../../src/errors.ts";
import { interpolate } from "../../src/reference/resolve.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { callTool, outputOf } from "../support/runtime-tool-calls.ts";
import { failureOf } from "../support/wrapped.ts";
import { streamOf } from "../../src/value/bytes.ts";

type Replacement = { readonly find: string; readonly replace: string };

/** Edits a text. Returns the text that is stored then, and the failure. */
async function edited(text: string, ...edits: readonly Replacement[]) {
  const store = new MemoryStore();
  await store.save({ name: "page", value: text });
  const input = { name: "page", edits: edits.map((edit) => ({ ...edit })) };
  const failure = await callTool("edit_variable", input, { store, inRun: false }).then(
    ({ ran }) => (ran.kind === "failed" ? failureOf(ran) : undefined),
    (error: unknown) => error,
  );
  return { text: await store.read("page"), failure };
}

describe("an edit changes nothing else", () => {
  it.each<[report: string, text: string, edit: Replacement & { readonly after: string }]>([
    [
      "strands-agents/harness-sdk#3175: tabs elsewhere stay",
      "\tif (a) {\n\t\tb();\n\t}\n",
      { find: "b();", replace: "c();", after: "\tif (a) {\n\t\tc();\n\t}\n" },
    ],
    [
      "MoonshotAI/kimi-cli#2191: CRLF elsewhere stays",
      "a\r\nb\r\nc\r\n",
      { find: "b", replace: "d", after: "a\r\nd\r\nc\r\n" },
    ],
    [
      "open-octo/octo-agent#1224: mixed line ends stay mixed",
      "a\r\nb\nc\r\nd\n",
      { find: "b\nc", replace: "x\ny", after: "a\r\nx\ny\r\nd\n" },
    ],
    [
      "Stack-Cairn/LiveAgent#171: a byte order mark stays",
      "\uFEFFa\r\nb\r\n",
      { find: "b", replace: "c", after: "\uFEFFa\r\nc\r\n" },
    ],
    [
      "qwen-code-dev-bot/oh-my-cli#477, strands-agents/sdk-typescript#688: no pattern is read in it",
      "PID=x; v=x2",
      { find: "x;", replace: "$$ $& $` $' $1 $<a>;", after: "PID=$$ $& $` $' $1 $<a>; v=x2" },
    ],
    [
      "claude-code-best/claude-code#371: Chinese text is found",
      "\tinput int Take = 620; // 止盈点数(点) — 32个pip=320点\n",
      {
        find: "止盈点数(点) — 32个pip=320点",
        replace: "赚一点点就跑(80点)",
        after: "\tinput int Take = 620; // 赚一点点就跑(80点)\n",
      },
    ],
  ])("%s", async (_, text, { after, ...edit }) => {
    expect(await edited(text, edit)).toEqual({ text: after, failure: undefined });
  });
});

describe("an edit that finds nothing says what differs, and a literal retry works", () => {
  it.each<[report: string, text: string, find: string]>([
    ["Gitlawb/zero#376: CRLF in the text", "if (a) {\r\n  b();\r\n}\r\n", "if (a) {\n  b();"],
    [
      "anthropics/claude-code#9163: tabs in the text",
      "\tif (a)\n\t\tb();\n",
      "    if (a)\n        b();",
    ],
    ["open-octo/octo-agent#1224: trailing spaces", "foo();  \nbar();\n", "foo();\nbar();"],
  ])("%s", async (_, text, find) => {
    let tried = find;
    for (let tries = 0; tries < 4; tries++) {
      const { failure } = await edited(text, { find: tried, replace: "x" });
      if (failure === undefined) break;
      expect(failure).toMatchObject({ code: "edit_not_found" });
      const { message } = failure as Error;
      const [, has = "", wrong = ""] = / has (".*"), find has (".*")\./u.exec(message) ?? [];
      tried = tried.replace(String(JSON.parse(wrong)), () => String(JSON.parse(has)));
    }
    expect((await edited(text, { find: tried, replace: "x" })).failure).toBeUndefined();
  });

  it("strands-agents/harness-sdk#3175: several places of a text of two lines have their lines", async () => {
    const { failure } = await edited("a\nb\n-\na\nb\n", { find: "a\nb", replace: "c" });
    expect(failure).toMatchObject({
      code: "edit_ambiguous",
      message: expect.stringContaining("2 times, in the lines 1, 4."),
    });
  });
});

describe("cells that look like numbers", () => {
  it.each<[report: string, csv: string, record: object]>([
    [
      "proompteng/bilig#28: accounting identifiers, quoted or not",
      'Account,CostCenter,Amount\n0010,00042,125.50\n"0100","007",50\n',
      { Account: "0010", CostCenter: "00042", Amount: 125.5 },
    ],
    [
      "jakob/TableTool#41: a UPC of twelve digits",
      "upc, sku\n012345678901, A\n",
      { upc: "012345678901" },
    ],
    ["sqlitebrowser/sqlitebrowser#160: colours", "c\n314e59\n000000\n", { c: "314e59" }],
    ["hizzle-co/noptin#602: a postal code in quotes", 'plz\n"01067"\n', { plz: "01067" }],
    [
      "KingdomFirst/Excavator#152: a phone number",
      "phone\n07700900123\n",
      { phone: "07700900123" },
    ],
  ])("%s", async (_, csv, record) => {
    const store = new MemoryStore({ csv: csvRecords });
    const bytes = new TextEncoder().encode(csv);
    const parts = async function* () {
      yield bytes;
    };
    const value = await store.receiveRecords(streamOf(parts()), "text/csv", {});
    if (value !== undefined) await store.save({ name: "v", value });
    expect(await store.read("v")).toMatchObject([
      record,
      ...(csv.split("\n").length > 3 ? [{}] : []),
    ]);
  });
});

describe("placeholders", () => {
  it.each([
    ["rusty4444/ha-linked-cards#36: a template literal", 'code: `<div style="width: ${state}%">`'],
    ["bobthecow/mustache.php#414: braces around markup", '<a href="x">{{last_name </a>}}'],
    ["janl/mustache.js#788: an unknown name", "{{title}} spends {{calc}}"],
  ])("%s stays as written", async (_, text) => {
    const lookup = lookupIn({ name: "Joe" });
    const syntaxes = ["mustache", "dollar"] as const;
    expect((await interpolate(text, lookup, { syntaxes })).text).toBe(text);
  });
});

describe("half of a character", () => {
  it.each(["anthropics/claude-code#69927", "microsoft/vscode#335404"])(
    "%s: a long result is shown without half of an emoji, wherever it is cut",
    async () => {
      const store = new MemoryStore();
      for (const shift of [0, 1]) {
        await store.save({ name: "long", value: "x".repeat(shift) + "😀".repeat(20_000) });
        const reads = [
          await outputOf("read_variable", { name: "long" }, { store, inRun: false }),
          await outputOf(
            "search_variable",
            { name: "long", query: "😀😀" },
            { store, inRun: false },
          ),
          store.info("long"),
        ];
        for (const read of reads) expect(JSON.stringify(read)).not.toMatch(/\\ud[89a-f]/iu);
      }
    },
  );

  it("elizaOS/eliza#20358: an error that is cut in the middle has none", () => {
    for (const shift of [0, 1, 2]) {
      const { message, details } = new ByrefError(
        "bad_value",
        " ".repeat(shift) + "😀".repeat(2_000),
        {
          text: " ".repeat(shift) + "😀".repeat(2_000),
        },
      );
      expect([message.isWellFormed(), String(details.text).isWellFormed()]).toEqual([true, true]);
    }
  });
});
