import { describe, expect, it } from "vitest";
import { Taint } from "../../src/store/labels.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { compact, type Json } from "../../src/value/json.ts";
import { callTool, outputOf } from "../support/runtime-tool-calls.ts";
import { failureOf, storeWith } from "../support/wrapped.ts";
import { diffsOfEdited } from "../../src/tool/edit/edited-diffs.ts";
import { slow } from "../support/slow.ts";

const edit = (store: MemoryStore, input: object, options: object = {}) =>
  outputOf("edit_variable", input as Json, { store, inRun: false, ...options });

const refused = async (store: MemoryStore, input: object, options: object = {}) => {
  const calling = { store, inRun: false, ...options };
  try {
    const { ran } = await callTool("edit_variable", input as Json, calling);
    return ran.kind === "failed" ? failureOf(ran) : undefined;
  } catch (error) {
    return error as { code: string; message: string };
  }
};

const replaced = (find: string, replace: string) => [{ find, replace }];

describe("edit_variable", () => {
  it("replaces exact texts in place, and shows what has changed", async () => {
    const store = new MemoryStore();
    await store.save({ name: "page", value: "<h1>Old</h1>\n<p>9</p>\n", description: "The page" });
    const edits = [
      { find: "Old", replace: "New" },
      { find: "9", replace: "10" },
    ];
    expect(await edit(store, { name: "$page", edits })).toEqual({
      $var: "page",
      type: "string",
      count: 23,
      version: 2,
      diff: "@@ -1,2 +1,2 @@\n-<h1>Old</h1>\n-<p>9</p>\n+<h1>New</h1>\n+<p>10</p>\n",
    });
    expect(await store.read("page")).toBe("<h1>New</h1>\n<p>10</p>\n");
    expect(store.info("page")).toMatchObject({
      description: "The page",
      sources: ["tool:edit_variable", "caller"],
    });
  });

  it.each<[text: string, edit: [find: string, replace: string], after: string]>([
    ["a\r\nb\r\n", ["b", "c\nd"], "a\r\nc\r\nd\r\n"],
    ["b\r\na", ["b", "c\nd"], "c\r\nd\r\na"],
    ["a\r\nb\r\nc", ["a\r\nb", "x\ny"], "x\r\ny\r\nc"],
    ["a\nb\n", ["b", "c\r\nd"], "a\nc\nd\n"],
    ["a\r\nb\nc", ["b\nc", "d\r\ne"], "a\r\nd\ne"],
    ["a b", ["b", "c\r\nd"], "a c\r\nd"],
    ["a\r\nb\r\n", ["\r\n", "\n"], "a\nb\n"],
    ["a\nb\n", ["\n", "\r\n"], "a\r\nb\r\n"],
    ["a\r\nb\r\n", ["b", "$lines\n-"], "a\r\nx\ny\r\n-\r\n"],
    ["\ud83d\nb", ["b", "c"], "\ud83d\nc"],
  ])(
    "keeps the line ends of a text, and half of a character: %j, %j",
    async (text, [find, replace], after) => {
      const store = await storeWith({ lines: "x\ny" });
      await store.save({ name: "page", value: text });
      await store.save({ name: "doc", value: { page: text } });
      for (const name of ["page", "doc.page"]) {
        await edit(store, { name, edits: [{ find, replace, all: true }] });
      }
      expect([await store.read("page"), await store.read("doc")]).toEqual([after, { page: after }]);
    },
  );

  it.each([
    ["\ud83d", "x"],
    ["\ude00", "x"],
    ["a \ud83d", "x"],
    ["a", "\ude00"],
    ["a", "$half"],
  ])("refuses half of an emoji: %j, %j", async (find, replace) => {
    const store = await storeWith({ half: "\ud83d", page: "a 😀" });
    const failure = await refused(store, { name: "page", edits: [{ find, replace }] });
    expect(failure).toMatchObject({
      code: "invalid_tool_input",
      message: expect.stringContaining(
        "has half of a character (a lone surrogate), as its character",
      ),
    });
    expect(await store.read("page")).toBe("a 😀");
  });

  it("resolves references in all values, and joins their labels", async () => {
    const store = await storeWith({ page: "Dear NAME, TABLE" });
    await store.save({ name: "who", value: { name: "Ann" }, sources: ["mcp:crm"], trusted: false });
    await store.save({ name: "word", value: "NAME" });
    const edits = [
      { find: "$word", replace: "${who.name} B." },
      { find: "TABLE", replace: "$who" },
    ];
    await edit(store, { name: "page", edits });
    expect(await store.read("page")).toBe('Dear Ann B., {"name":"Ann"}');
    expect(store.info("page")).toMatchObject({
      sources: ["tool:edit_variable", "caller", "mcp:crm"],
      trusted: false,
    });
  });

  const patch = (op: string, path: string, value?: Json) => compact({ op, path, value });

  it.each<[string, Json, object, Json]>([
    [
      "a JSON Patch",
      { list: [1, 2], text: "a" },
      {
        edits: [
          patch("test", "/text", "a"),
          patch("add", "/list/-", "$n[0]"),
          patch("remove", "/text"),
        ],
      },
      { list: [1, 2, 7] },
    ],
    [
      "a part",
      { list: [1] },
      { name: "doc.list", edits: patch("replace", "/0", null) },
      { list: [null] },
    ],
    ["a text in it", { t: "a b" }, { name: "doc.t", edits: replaced("a", "c") }, { t: "c b" }],
    ["all in quotes", "a b", { edits: JSON.stringify(replaced("a", "c")) }, "c b"],
  ])("edits %s", async (_, before, input, after) => {
    const store = await storeWith({ doc: before, n: [7] });
    await edit(store, { name: "doc", ...input });
    expect(await store.read("doc")).toEqual(after);
    await edit(store, { name: "doc", edits: "undo" });
    await edit(store, { name: "doc", saveAs: "copy", ...input });
    expect([await store.read("doc"), store.info("copy")?.tool]).toEqual([before, "edit_variable"]);
  });

  it("makes all edits or none", async () => {
    const store = await storeWith({ page: "a b", doc: { a: 1 } });
    const text = [
      { find: "a", replace: "c" },
      { find: "a", replace: "d" },
    ];
    expect(await refused(store, { name: "page", edits: text })).toMatchObject({
      code: "edit_not_found",
    });
    const patch = [
      { op: "add", path: "/b", value: 2 },
      { op: "test", path: "/a", value: 2 },
    ];
    expect(await refused(store, { name: "doc", edits: patch })).toMatchObject({
      code: "edit_conflict",
    });
    expect([await store.read("page"), await store.read("doc")]).toEqual(["a b", { a: 1 }]);
    expect([store.info("page")?.version, store.info("doc")?.version]).toEqual([1, 1]);
  });

  it.each([
    [{ edits: [] }, "invalid_tool_input"],
    [{ edits: [{ find: "a" }] }, "invalid_tool_input"],
    [
      {
        edits: [
          { find: "a", replace: "b" },
          { op: "remove", path: "/a" },
        ],
      },
      "invalid_tool_input",
    ],
    [{ edits: [{ op: "remove", path: "a" }] }, "invalid_tool_input"],
    [{ edits: [{ op: "remove", path: "/a" }] }, "edit_not_found"],
    [{ name: "doc", edits: [{ find: "a", replace: "b" }] }, "bad_value"],
    [{ name: "none", edits: [{ find: "a", replace: "b" }] }, "variable_not_found"],
    [{ edits: [{ find: "a", replace: "b" }], saveAs: "input" }, "bad_name"],
    [{ edits: Array.from({ length: 101 }, () => ({ find: "a", replace: "a" })) }, "limit_exceeded"],
  ])("refuses %j", async (input, code) => {
    const store = await storeWith({ page: "a b", doc: { a: 1 } });
    expect(await refused(store, { name: "page", ...input })).toMatchObject({ code });
  });

  it("refuses copies of copies before they fill the memory", async () => {
    const store = await storeWith({ doc: { a: 1 } });
    const edits = Array.from({ length: 99 }, (_, n) => ({ op: "copy", from: "", path: `/${n}` }));
    const test = { op: "test", path: "", value: 1 };
    expect(await refused(store, { name: "doc", edits: [...edits, test] })).toMatchObject({
      code: "limit_exceeded",
      message: expect.stringContaining("maxReadWork"),
    });
    expect(await store.read("doc")).toEqual({ a: 1 });
  });

  it("fails if the variable has changed before the result is saved", async () => {
    const store = await storeWith({ page: "a b" });
    const input = { name: "page", edits: [{ find: "a", replace: "c" }] };
    const { ran } = await callPrepared(store, input);
    await store.save({ name: "page", value: "new" });
    await expect(ran()).rejects.toMatchObject({ code: "edit_conflict" });
    expect(await store.read("page")).toBe("new");
  });

  describe("with guarded values", () => {
    async function sealedStore() {
      const store = await storeWith({ page: "name: X, mail: Y" });
      await store.save({ name: "sealed", value: { name: "Ann Secret" }, visibility: "sealed" });
      await store.save({ name: "key", value: "k-123", visibility: "secret" });
      return store;
    }

    const texts = ["Ann", "Bob"].map((find) => ({ find, replace: "" }));
    const removals = ["/name", "/none"].map((path) => ({ op: "remove", path }));
    const searches = ["$sealed.name", "$sealed.none", "x $sealed[0]"];
    const tests = searches.map((value) => ({ op: "test", path: "/a", value }));

    it.each<[string, string, readonly object[], RegExp]>([
      ["edit a guarded text", "text", texts, /^variable_sealed: \$text is sealed/u],
      ["edit guarded JSON", "sealed", removals, /^variable_sealed: \$sealed is sealed/u],
      [
        "search for them",
        "page",
        searches.map((find) => ({ find, replace: "" })),
        /^variable_sealed: .* withheld/u,
      ],
      ["test for them", "doc", tests, /^variable_sealed: .* withheld/u],
      ["insert secrets", "page", [{ find: "X", replace: "$key" }], /^variable_secret/u],
      ["edit secrets", "key", [{ find: "X", replace: "$key" }], /^variable_secret/u],
    ])("does not %s, whatever they contain", async (_, name, all, failure) => {
      const store = await sealedStore();
      await store.save({ name: "text", value: "Ann Secret", visibility: "sealed" });
      await store.save({ name: "doc", value: { a: 1 } });
      const failures = new Set<string>();
      for (const one of all) {
        const error = await refused(store, { name, edits: [one], saveAs: "p2" });
        failures.add(`${error?.code}: ${error?.message}`);
      }
      expect([...failures]).toEqual([expect.stringMatching(failure)]);
      expect(store.info("p2")).toBeUndefined();
    });

    it("inserts them only into another variable, which is sealed and shown without a diff", async () => {
      const store = await sealedStore();
      const edits = [{ find: "X", replace: "$sealed.name" }];
      expect(await refused(store, { name: "page", edits })).toMatchObject({
        code: "variable_sealed",
      });
      const output = await edit(store, { name: "page", edits, saveAs: "filled" });
      expect(output).toEqual({ $var: "filled", visibility: "sealed" });
      expect(await store.read("filled")).toBe("name: Ann Secret, mail: Y");
      expect(store.info("filled")).toMatchObject({ visibility: "sealed", flags: ["derived"] });
      expect(await store.read("page")).toBe("name: X, mail: Y");
    });

    it("of an edit that fails beside one, shows the code only", async () => {
      for (const [name, edit] of [
        ["page", { find: "Ann S", replace: "!" }],
        ["page", { find: "nne Secret", replace: "!" }],
        ["doc", { op: "copy", from: "/x/nope", path: "/y" }],
        ["doc", { op: "test", path: "/x/name", value: "Ann Secret." }],
        ["doc", { op: "test", path: "", value: { a: 1, x: { name: "Ann" } } }],
      ] as const) {
        const store = await sealedStore();
        await store.save({ name: "doc", value: { a: 1 } });
        const first =
          name === "page"
            ? { find: "X", replace: "$sealed.name and $sealed.name" }
            : { op: "add", path: "/x", value: "$sealed" };
        expect(await refused(store, { name, edits: [first, edit], saveAs: "out" })).toMatchObject({
          code: expect.stringMatching(/^edit_/),
          message: "edit_variable failed; details are withheld, because its input is sealed.",
        });
        expect(store.info("out")).toBeUndefined();
      }
    });
  });

  it("marks an untrusted text, or shows nothing if the agent hides it", async () => {
    const input = { name: "mail", edits: [{ find: "a", replace: "b" }] };
    for (const untrusted of ["show", "hide"] as const) {
      const store = new MemoryStore();
      await store.save({ name: "mail", value: "a", trusted: false });
      const taint = new Taint();
      const failed = await refused(
        store,
        { name: "mail", edits: [{ find: "aX aaa", replace: "" }] },
        { untrusted, taint },
      );
      if (untrusted === "hide") expect(failed?.message).toContain("withheld");
      expect(taint.isTainted).toBe(untrusted === "show");
      const output = await edit(store, input, { untrusted, taint });
      if (untrusted === "show") expect(output).toMatchObject({ untrusted: true });
      else expect(JSON.stringify(output)).not.toContain("diff");
    }
  });

  it("restores earlier versions with undo", async () => {
    const store = await storeWith({ page: "a" });
    for (const [find, replace] of [
      ["a", "b"],
      ["b", "c"],
    ]) {
      await edit(store, { name: "page", edits: [{ find, replace }] });
    }
    const undo = { name: "$page", edits: "undo" };
    expect(await edit(store, undo)).toEqual({ $var: "page", type: "string", count: 1, version: 4 });
    expect(await store.read("page")).toBe("b");
    await edit(store, undo);
    expect(await store.read("page")).toBe("a");
    expect(await refused(store, undo)).toMatchObject({
      code: "edit_conflict",
      message:
        "No earlier version of $page is kept. Read it with read_variable, then edit it as it is.",
    });
    await outputOf("set_variable", { name: "page", value: [1] }, { store, inRun: false });
    await edit(store, undo);
    expect(await store.read("page")).toBe("a");
    await store.save({ name: "page", value: "d", keepsVersion: true, visibility: "sealed" });
    expect(await refused(store, undo)).toMatchObject({ code: "variable_sealed" });
    expect(await refused(store, { ...undo, saveAs: "other" })).toMatchObject({
      code: "variable_sealed",
    });
  });

  it("marks a text as composed if an edit puts a URL together", async () => {
    const store = await storeWith({
      page: "![x](https://a.example/?q=X) and https://b.example",
      who: "Ann",
    });
    await edit(store, { name: "page", edits: [{ find: "and", replace: "or" }], saveAs: "plain" });
    expect(store.info("plain")?.flags).toBeUndefined();
    await edit(store, { name: "page", edits: [{ find: "=X", replace: "=$who" }] });
    expect(store.info("page")?.flags).toEqual(["composed"]);
  });
});

/** Runs a call without saving its result. */
async function callPrepared(store: MemoryStore, input: object) {
  const { run, call } = await import("../support/wrapped.ts");
  const { wrapRuntimeTool } = await import("../../src/tool/tool-call.ts");
  const { editVariable } = await import("../../src/tool/edit/edit-variable.ts");
  const ran = await run(await wrapRuntimeTool(editVariable(), { store }), input as Json, call);
  if (ran.kind === "failed") throw new Error(ran.message);
  return { ran: () => ran.save() };
}

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

it.each<[report: string, text: string, edit: Replacement & { readonly after: string }]>([
  [
    "strands-agents/harness-sdk#3175: tabs elsewhere stay",
    "\tif (a) {\n\t\tb();\n\t}\n",
    { find: "b();", replace: "c();", after: "\tif (a) {\n\t\tc();\n\t}\n" },
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
])("an edit changes nothing else %s", async (_, text, { after, ...edit }) => {
  expect(await edited(text, edit)).toEqual({ text: after, failure: undefined });
});

async function withPage(value: Json = "a\nb\nc\n") {
  const store = new MemoryStore();
  await store.save({ name: "page", value, tool: "get_page" });
  return store;
}

describe("the diffs of edited variables", () => {
  it.each<[string, Json, readonly object[], string, { name: string; diff: string }]>([
    [
      "compare with the variable that was edited",
      "a\nb\nc\n",
      [{ name: "page", edits: replaced("b", "B"), saveAs: "page_2" }],
      "page_2",
      { name: "page", diff: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
    ],
    [
      "include earlier edits, so that none is hidden",
      "a\nb\nc\n",
      [
        { name: "page", edits: replaced("a", "A") },
        { name: "page", edits: replaced("b", "B"), saveAs: "page_2" },
        { name: "page_2", edits: replaced("c", "C"), saveAs: "page_3" },
      ],
      "page_3",
      { name: "page", diff: "@@ -1,3 +1,3 @@\n-a\n-b\n-c\n+A\n+B\n+C\n" },
    ],
    [
      "compare JSON line by line",
      [1, 2],
      [{ name: "page", edits: [{ op: "replace", path: "/0", value: 7 }] }],
      "page",
      { name: "page", diff: "@@ -1,4 +1,4 @@\n [\n-  1,\n+  7,\n   2\n ]\n" },
    ],
    [
      "compare a part with the variable made from it",
      { text: "a" },
      [{ name: "page.text", edits: replaced("a", "b"), saveAs: "text" }],
      "text",
      { name: "page.text", diff: "@@ -1 +1 @@\n-a\n+b\n" },
    ],
  ])("%s", async (...[, value, edits, name, { diff, ...from }]) => {
    const store = await withPage(value);
    for (const one of edits) await edit(store, one);
    expect(await diffsOfEdited([name], store)).toMatchObject([
      { name, from: { ...from, version: 1 }, diff },
    ]);
  });

  it("omit restored versions, unedited results and bytes", async () => {
    const store = await withPage();
    await edit(store, { name: "page", edits: replaced("b", "B") });
    await edit(store, { name: "page", edits: "undo" });
    await store.save({ name: "bytes", value: await store.receive(streamed(), "image/png") });
    expect(await diffsOfEdited(["page", "bytes", "none"], store)).toEqual([]);
  });

  it.each(["page", "page_2"])("are withheld if $%s is sealed", async (name) => {
    const store = await withPage();
    await edit(store, { name: "page", edits: replaced("b", "B"), saveAs: "page_2" });
    const { input = null } = store.info("page_2") ?? {};
    const value = "sealed text";
    await store.save({ name, value, visibility: "sealed", tool: "edit_variable", input });
    const [diff] = await diffsOfEdited(["page_2"], store);
    expect(diff).toMatchObject({ name: "page_2", withheld: "sealed" });
    expect(diff).not.toHaveProperty("diff");
  });

  it("say if a value is too large or the original is gone", slow, async () => {
    const store = await withPage("a".repeat(5_000_000));
    await store.save({ name: "page", value: "c".repeat(5_000_000), keepsVersion: true });
    expect(await diffsOfEdited(["page"], store)).toEqual([
      { name: "page", version: 2, from: { name: "page", version: 1 }, withheld: "too_large" },
    ]);
    await store.save({ name: "page", value: "a" });
    await edit(store, { name: "page", edits: replaced("a", "b"), saveAs: "page_2" });
    store.delete("page");
    expect(await diffsOfEdited(["page_2"], store)).toEqual([
      { name: "page_2", version: 1, withheld: "gone" },
    ]);
  });

  it("terminate for variables that were edited from each other", async () => {
    const store = await withPage();
    await edit(store, { name: "page", edits: replaced("b", "B"), saveAs: "page_2" });
    await edit(store, { name: "page_2", edits: replaced("c", "C"), saveAs: "page" });
    const [diff] = await diffsOfEdited(["page"], store);
    expect(diff).toMatchObject({ name: "page", version: 2, from: { name: "page", version: 1 } });
    expect(diff?.diff).toContain("-b\n-c\n+B\n+C\n");
    expect(await diffsOfEdited(Array(100).fill("page_2"), store)).toHaveLength(8);
  });
});

const streamed = (): ReadableStream<Uint8Array> => new Blob([new Uint8Array([1, 2])]).stream();
