import { describe, expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";
import { encode, streamed } from "./store-content.ts";
import { observers } from "./store-observers.ts";
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
