import { expect, it } from "vitest";
import type { Change } from "../../src/store/variable.ts";
import { arrayOfBytes } from "./store-content.ts";
import { expectFailure } from "./store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** Which changes observers are notified of, and when. */
export function observers(at: Testing): void {
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

  it("write in the same transaction", async () => {
    const { sql } = at.ground;
    if (sql === undefined) return;
    sql.run(`CREATE TABLE log (line TEXT)`);
    at.store.observe(({ kind, info }) =>
      sql.run(`INSERT INTO log VALUES (?)`, `${kind} ${info.name}`),
    );
    const lines = () => sql.all(`SELECT line FROM log`).map(({ line }) => line);
    await at.store.save({ name: "a", value: 1 });
    expect(lines()).toEqual(["saved a"]);
    const stop = at.store.observe(({ info }) => {
      if (info.name === "c") throw new Error("no");
    });
    await expectFailure(
      () =>
        at.store.saveAll([
          { name: "b", value: 1 },
          { name: "c", value: 1 },
        ]),
      new Error("no"),
    );
    expect([lines(), at.store.count()]).toEqual([["saved a"], 1]);
    stop();
    await at.store.save({ name: "c", value: 1 });
    expect(lines()).toEqual(["saved a", "saved c"]);
  });
}
