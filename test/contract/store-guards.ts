import { describe, expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import type { Change, VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";
import { arrayOfBytes, encode, streamed } from "./store-content.ts";
import { expectFailure } from "./store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** What is visible of a variable to whom, and which observers are notified. */
export function storeGuards(at: Testing): void {
  describe("secrets", () => secrets(at));
  describe("the guards of a variable", () => guards(at));
  describe("observers", () => observers(at));
}

const SECRET = "s3cret-é-value";

function secrets(at: Testing): void {
  const values: Readonly<Record<string, Json>> = {
    string: SECRET,
    array: [{ [SECRET]: SECRET }],
    object: { [SECRET]: [SECRET] },
    number: 31_337,
    null: null,
    boolean: true,
  };
  const expectHidden = (info: VariableInfo | undefined, type: string) => {
    expect(info).toMatchObject({ type, shape: type, preview: "", visibility: "secret" });
    expect(JSON.stringify(info)).not.toContain(SECRET);
  };

  it.each(Object.entries(values))(
    "reveal their type but not their content: %s",
    async (type, value) => {
      const told: VariableInfo[] = [];
      at.store.observe(({ info }) => told.push(info));
      const saved = await at.store.save({ name: "v", value, visibility: "secret" });
      at.store.update("v", { description: "a key" });
      at.store.forget();
      const [listed] = at.store.list();
      const [paged] = at.store.page({ limit: 1 }).variables;
      for (const info of [
        saved,
        at.store.info("v"),
        listed,
        paged,
        at.store.open("v")?.info,
        ...told,
      ])
        expectHidden(info, type);
      at.store.delete("v");
      expectHidden(told.at(-1), type);
      // Code that may read it receives the whole value.
      await at.store.save({ name: "v", value, visibility: "secret" });
      expect(await at.store.read("v")).toEqual(value);
    },
  );

  it("reveal nothing if they are streamed or large", async () => {
    const lines = `${JSON.stringify({ [SECRET]: SECRET })}\n`.repeat(9_000);
    const sent = {
      "text/plain": lines,
      "application/x-ndjson": lines,
      "application/json": JSON.stringify([SECRET]),
      "image/png": lines,
    };
    for (const [mediaType, body] of Object.entries(sent)) {
      const value = await at.store.receive(streamed([encode(body)]).stream, mediaType);
      const info = await at.store.save({ name: "v", value, visibility: "secret" });
      expect(info.mediaType).toBe(mediaType);
      expectHidden(info, info.type);
      at.store.forget();
      expectHidden(at.store.info("v"), info.type);
    }
  });

  it("stay secret after any write, until a replacement changes the visibility", async () => {
    await at.store.save({ name: "v", value: { a: SECRET }, visibility: "secret" });
    const writes: readonly Omit<Write, "name">[] = [
      { value: { b: SECRET }, mode: "merge" },
      { value: SECRET, path: [{ key: "c" }] },
      { value: { d: SECRET }, mode: "merge", visibility: "model" },
      { value: { e: SECRET } },
      { value: [SECRET] },
      { value: SECRET, mode: "append", visibility: "sealed" },
    ];
    for (const write of writes) {
      const info = await at.store.save({ name: "v", ...write });
      expectHidden(info, info.type);
      expectHidden(at.store.info("v"), info.type);
    }
    const shown = await at.store.save({ name: "v", value: [SECRET], visibility: "model" });
    expect(shown).toMatchObject({
      visibility: "model",
      shape: "string[]",
      preview: `["${SECRET}"]`,
    });
    expect(at.store.info("v")).toEqual(shown);
  });
}

function guards(at: Testing): void {
  it("include flags, which an extension keeps and a replacement drops", async () => {
    const flags = ["composed", "derived"] as const;
    await at.store.save({ name: "v", value: ["a"], visibility: "sealed", flags });
    at.store.forget();
    expect([at.store.info("v"), at.store.glance("v"), at.store.list()[0]]).toMatchObject(
      Array.from({ length: 3 }, () => ({ visibility: "sealed", flags })),
    );
    await at.store.save({ name: "v", value: "b", mode: "append" });
    expect(at.store.info("v")).toMatchObject({ visibility: "sealed", flags });
    await at.store.save({ name: "v", value: "c" });
    at.store.forget();
    expect(at.store.info("v")?.flags).toBeUndefined();
    // A call that appends to a sealed value derives a new one. The owner who appends does not.
    await at.store.save({ name: "v", value: "d", mode: "append" });
    expect(at.store.info("v")?.flags).toBeUndefined();
    await at.store.save({ name: "v", value: "e", mode: "append", toolCallId: "c" });
    expect(at.store.glance("v")?.flags).toEqual(["derived"]);
  });

  it("do not change with the caller's list of sources", async () => {
    const sources = ["tool:a"];
    const info = await at.store.save({ name: "v", value: 1, sources });
    sources.push("tool:b");
    expect([info.sources, at.store.info("v")?.sources]).toEqual([["tool:a"], ["tool:a"]]);
  });
}

/** Which changes observers are notified of, and when. */
function observers(at: Testing): void {
  const watched = () => {
    const changes: Change[] = [];
    const stop = at.store.observe((change) => changes.push(change));
    const told = () => changes.splice(0).map(({ kind, info }) => `${kind} ${info.name}`);
    return { changes, stop, told };
  };

  it("are notified of every change, in order", async () => {
    at.fresh({ quotaBytes: 1_000 });
    const { told, stop } = watched();
    await at.store.save({ name: "a", value: "x".repeat(400) });
    await at.store.save({ name: "b", value: "x".repeat(400), ttlMs: 50 });
    await at.store.save({ name: "a", value: "x", mode: "append" });
    at.store.update("a", { pinned: true });
    expect(told()).toEqual(["saved a", "saved b", "saved a", "updated a"]);
    await at.store.saveAll([
      { name: "c", value: "x".repeat(300) },
      { name: "d", value: 1 },
      { name: "c", value: 2 },
    ]);
    expect(told()).toEqual(["evicted b", "saved c", "saved d", "saved c"]);
    at.store.delete("d");
    expect(told()).toEqual(["deleted d"]);
    for (const name of ["f", "e", "g"]) await at.store.save({ name, value: 1, ttlMs: 5 });
    at.ground.nowMs += 5;
    at.store.evictDue(at.ground.nowMs, 2);
    expect(told()).toEqual(["saved f", "saved e", "saved g", "evicted f", "evicted e"]);
    await at.store.save({ name: "h", value: 1, run: "two" });
    at.store.endRun("two");
    await at.store.save({ name: "i", value: 1 });
    at.store.reset(0);
    expect(told()).toEqual(["saved h", "evicted h", "saved i", "deleted c", "deleted i"]);
    stop();
    await at.store.save({ name: "a", value: 1 });
    expect(told()).toEqual([]);
  });

  it("are not notified if nothing changes", async () => {
    await at.store.save({ name: "a", value: [1] });
    const { told } = watched();
    await at.store.read("a");
    at.store.list();
    at.store.open("a")?.close();
    expect([
      at.store.delete("nobody"),
      at.store.update("nobody", {}),
      at.store.endRun("none"),
    ]).toEqual([false, undefined, []]);
    at.store.reset(1);
    at.store.evictDue(at.ground.nowMs, 9);
    at.store.flushAccess();
    await at.store.sweep();
    at.store.forget();
    await expectFailure(() => at.store.save({ name: "a", value: {}, mode: "merge" }), "bad_value");
    await expectFailure(() => at.store.save({ name: "not a name", value: 1 }), "bad_name");
    (await at.store.prepare({ name: "a", value: 1 })).discard();
    expect(told()).toEqual([]);
  });

  it("receive the variable's info, and the tombstone of an eviction", async () => {
    const { changes } = watched();
    const saved = await at.store.save({
      name: "a",
      value: ["value"],
      tool: "t",
      input: { a: 1 },
      ttlMs: 5,
    });
    const updated = at.store.update("a", { description: "d" });
    at.ground.nowMs += 5;
    const [tombstone] = at.store.evictDue(at.ground.nowMs, 1);
    await at.store.save({ name: "b", value: arrayOfBytes(at.sizes[1] ?? 0) });
    const [b] = at.store.list();
    at.store.delete("b");
    expect(changes).toEqual([
      { kind: "saved", info: saved },
      { kind: "updated", info: updated },
      { kind: "evicted", info: updated, tombstone },
      { kind: "saved", info: b },
      { kind: "deleted", info: b },
    ]);
  });
}
