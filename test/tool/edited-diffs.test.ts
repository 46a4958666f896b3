import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { diffsOfEdited } from "../../src/tool/edit/edited-diffs.ts";
import type { Json } from "../../src/value/json.ts";
import { outputOf } from "../support/runtime-tool-calls.ts";
import { slow } from "../support/slow.ts";

const edit = (store: MemoryStore, input: object) =>
  outputOf("edit_variable", input as Json, { store, inRun: false });

const replaced = (find: string, replace: string) => [{ find, replace }];

async function withPage(value: Json = "a\nb\nc\n") {
  const store = new MemoryStore();
  await store.save({ name: "page", value, tool: "get_page" });
  return store;
}

describe("the diffs of edited variables", () => {
  it("compare with the variable that was edited", async () => {
    const store = await withPage();
    await edit(store, { name: "page", edits: replaced("b", "B"), saveAs: "page_2" });
    expect(await diffsOfEdited(["page", "page_2"], store)).toEqual([
      {
        name: "page_2",
        version: 1,
        from: { name: "page", version: 1 },
        diff: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
      },
    ]);
  });

  it("include earlier edits, so that none is hidden", async () => {
    const store = await withPage();
    await edit(store, { name: "page", edits: replaced("a", "A") });
    await edit(store, { name: "page", edits: replaced("b", "B"), saveAs: "page_2" });
    await edit(store, { name: "page_2", edits: replaced("c", "C"), saveAs: "page_3" });
    expect(await diffsOfEdited(["page_3"], store)).toEqual([
      {
        name: "page_3",
        version: 1,
        from: { name: "page", version: 1 },
        diff: "@@ -1,3 +1,3 @@\n-a\n-b\n-c\n+A\n+B\n+C\n",
      },
    ]);
  });

  it("compare JSON line by line, and a part with the variable made from it", async () => {
    const store = await withPage({ list: [1, 2], text: "a" });
    await edit(store, { name: "page", edits: [{ op: "replace", path: "/list/0", value: 7 }] });
    const [whole] = await diffsOfEdited(["page"], store);
    expect(whole?.diff).toContain("-    1,\n+    7,\n");
    await edit(store, { name: "page.text", edits: replaced("a", "b"), saveAs: "text" });
    expect(await diffsOfEdited(["text"], store)).toEqual([
      {
        name: "text",
        version: 1,
        from: { name: "page.text", version: 1 },
        diff: "@@ -1,1 +1,1 @@\n-a\n+b\n".replaceAll(",1", ""),
      },
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

function streamed(): ReadableStream<Uint8Array> {
  return new Blob([new Uint8Array([1, 2])]).stream();
}
