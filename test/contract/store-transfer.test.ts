import { expect, it } from "vitest";
import { jsonContent } from "../../src/store/bytes/content.ts";
import type { ExportedRecord } from "../../src/store/store-transfer.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { slow } from "../support/slow.ts";
import { expectFailure, Ground, KIB, MIB, seen } from "./store-fixture.ts";
import { plainTextOfBytes, streamed } from "./store-content.ts";
import { onEveryKind } from "./store-testing.ts";

/** Copies all of a store into another one. */
async function move(from: VariableStore, to: VariableStore): Promise<void> {
  for (const { record, value } of from.transfer.records()) {
    const bytes = await value?.read(0, value.info.bytes);
    const content =
      bytes && (await to.receive(streamed([bytes]).stream, value?.info.mediaType ?? ""));
    await to.transfer.restore(record, content);
  }
}

/** The records of a store, as text. */
function recordsOf({ transfer }: VariableStore): readonly string[] {
  return Array.from(transfer.records(), ({ record }) =>
    "info" in record ? `${record.type} ${record.info.name}` : JSON.stringify(record),
  );
}

function first({
  transfer,
}: VariableStore): ExportedRecord["record"] & { readonly type: "variable" } {
  for (const { record } of transfer.records()) if (record.type === "variable") return record;
  throw new Error("There is no variable.");
}

onEveryKind((at) => {
  it("moves values, metadata, versions, runs, numbers and tombstones", slow, async () => {
    const { store } = at;
    const call = {
      tool: "t",
      toolCallId: "c",
      input: { a: 1 },
      trusted: false,
      sources: ["mcp:x"],
    };
    const name = { base: "t", numbered: true, inputDigest: "d" };
    const flags = ["derived", "composed"] as const;
    await store.save({ name, value: { a: [1, 2] }, ...call });
    await store.save({ name: "of_run", value: "x", run: "r1", visibility: "sealed", flags });
    await store.save({ name: "twice", value: 1, ttlMs: 5_000, pinned: true });
    await store.save({ name: "twice", value: "\ud800", description: "Half a character" });
    await store.save({ name: "large", value: plainTextOfBytes(100 * KIB) });
    await store.save({ name: "larger", value: plainTextOfBytes(9 * MIB) });
    for (const value of ["a", "b", "c"]) await store.save({ name: "v", value, keepsVersion: true });
    store.undo("v");
    await store.save({ name: "gone", value: 1, run: "r2", ...call });
    store.endRun("r2");
    const other = new Ground(at.kind);
    const moved = other.open();
    await move(store, moved);
    const names = ["gone", "t_1"];
    expect(await seen(moved, names)).toEqual(await seen(store, names));
    expect(recordsOf(moved)).toEqual(recordsOf(store));
    expect([moved.undo("v"), moved.undo("v")]).toMatchObject([{ version: 5 }, undefined]);
    expect(await moved.read("v")).toBe("a");
    // The same call gets the same name; another one gets the next number.
    expect((await moved.save({ name, value: 2, ...call })).name).toBe("t_1");
    const next = await moved.save({ name: { ...name, inputDigest: "e" }, value: 2, tool: "t" });
    expect(next.name).toBe("t_2");
    other.close();
  });

  it("does not count as an access, and notifies no observer", async () => {
    await at.store.save({ name: "a", value: 1 });
    at.ground.nowMs += 1_000;
    const before = at.store.info("a");
    const record = first(at.store);
    expect(at.store.info("a")).toEqual(before);
    at.store.observe(() => {
      throw new Error("told");
    });
    const renamed = { ...record, info: { ...record.info, name: "b" } };
    await at.store.transfer.restore(renamed, jsonContent(2));
    expect(at.store.info("b")?.accessedAt).not.toBe(before?.accessedAt);
  });

  it.each([100, 9 * MIB])("discards %i bytes that it cannot keep", slow, async (bytes) => {
    const store = at.ground.open({ quotaBytes: 10 * MIB });
    await store.save({ name: "a", value: plainTextOfBytes(2 * MIB) });
    const record = first(store);
    const restore = async (name: string, type: "variable" | "version" = "variable") => {
      const { stream } = streamed([new TextEncoder().encode(plainTextOfBytes(bytes))]);
      const content = await store.receive(stream, "text/plain");
      await store.transfer.restore({ type, info: { ...record.info, name } }, content);
    };
    await expectFailure(() => restore("a"), "conflict");
    await expectFailure(() => restore("no name"), "bad_name");
    if (bytes > MIB) await expectFailure(() => restore("b"), "limit_exceeded");
    // A version is left out.
    await restore(bytes > MIB ? "a" : "b", "version");
    expect(recordsOf(store)).toEqual(["variable a", '{"type":"numbers","numbers":{}}']);
    await at.ground.expectClean(store);
  });

  it("leaves out expired variables, and the values of secrets", async () => {
    await at.store.save({ name: "a", value: 1, ttlMs: 5 });
    await at.store.save({ name: "s", value: 1, visibility: "secret" });
    at.ground.nowMs += 5;
    const moved = new Ground(at.kind).open();
    for (const { record, value } of at.store.transfer.records()) {
      expect(value).toBeUndefined();
      await moved.transfer.restore(record);
    }
    expect([moved.count(), moved.tombstone("s")?.reason]).toEqual([0, "left_out"]);
  });
});
