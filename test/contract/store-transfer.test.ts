import { expect, it } from "vitest";
import { jsonContent } from "../../src/store/bytes/content.ts";
import type { ExportedVariable } from "../../src/store/variable-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { slow } from "../support/slow.ts";
import { expectFailure, Ground, KIB, MIB, seen } from "./store-fixture.ts";
import { plainTextOfBytes } from "./store-content.ts";
import { onEveryKind } from "./store-testing.ts";

function leaving(store: VariableStore, name: string): ExportedVariable {
  const departure = store.transfer.open(name);
  if (departure === undefined) throw new Error(`There is no ${name}.`);
  return departure;
}

/** Copies all of a store into another one. */
async function move(from: VariableStore, to: VariableStore): Promise<void> {
  for (const name of from.transfer.names()) {
    const departure = leaving(from, name);
    const { info } = departure;
    const bytes = await departure.read(0, info.bytes);
    const stream = new Response(bytes.slice()).body ?? new ReadableStream();
    await to.transfer.restore(departure, await to.receive(stream, info.mediaType));
    departure.close();
  }
  const { tombstones, numbers } = from.transfer.nameRecords();
  for (const tombstone of tombstones) to.transfer.restoreTombstone(tombstone);
  to.transfer.restoreNumbers(numbers);
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
    await store.save({ name: "gone", value: 1, run: "r2", ...call });
    store.endRun("r2");
    const other = new Ground(at.kind);
    const moved = other.open();
    await move(store, moved);
    const names = ["gone", "t_1"];
    expect(await seen(moved, names)).toEqual(await seen(store, names));
    expect(moved.transfer.nameRecords()).toEqual(store.transfer.nameRecords());
    // The same call gets the same name; another one gets the next number.
    expect((await moved.save({ name, value: 2, ...call })).name).toBe("t_1");
    const next = await moved.save({ name: { ...name, inputDigest: "e" }, value: 2, tool: "t" });
    expect(next.name).toBe("t_2");
    await other.expectClean(moved);
    other.close();
  });

  it("does not count as an access, and notifies no observer", async () => {
    await at.store.save({ name: "a", value: 1 });
    at.ground.nowMs += 1_000;
    const before = at.store.info("a");
    const departure = leaving(at.store, "a");
    departure.close();
    expect(at.store.info("a")).toEqual(before);
    at.store.observe(() => {
      throw new Error("told");
    });
    const { info } = departure;
    await at.store.transfer.restore({ info: { ...info, name: "b" } }, jsonContent(2));
    expect(at.store.info("b")?.accessedAt).not.toBe(before?.accessedAt);
  });

  it.each([100, 9 * MIB])("discards %i bytes that it cannot keep", slow, async (bytes) => {
    const store = at.ground.open({ quotaBytes: 10 * MIB });
    await store.save({ name: "a", value: plainTextOfBytes(2 * MIB) });
    const { info } = leaving(store, "a");
    const receive = () => {
      const stream = new Response(plainTextOfBytes(bytes)).body ?? new ReadableStream();
      return store.receive(stream, "text/plain");
    };
    const { transfer } = store;
    await expectFailure(async () => transfer.restore({ info }, await receive()), "conflict");
    const bad = { info: { ...info, name: "no name" } };
    await expectFailure(async () => transfer.restore(bad, await receive()), "bad_name");
    const full = { info: { ...info, name: "b" } };
    if (bytes > MIB) {
      await expectFailure(async () => transfer.restore(full, await receive()), "limit_exceeded");
    }
    expect(store.transfer.names()).toEqual(["a"]);
    await at.ground.expectClean(store);
  });

  it("skips expired variables", async () => {
    await at.store.save({ name: "a", value: 1, ttlMs: 5 });
    at.ground.nowMs += 5;
    expect(at.store.transfer.names()).toEqual([]);
    expect(at.store.transfer.open("a")).toBeUndefined();
  });
});
