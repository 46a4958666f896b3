import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { callTool } from "../support/runtime-tool-calls.ts";
import { failureOf } from "../support/wrapped.ts";

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
