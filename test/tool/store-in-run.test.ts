import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { storeInRun } from "../../src/tool/store-in-run.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { RunScope } from "../../src/tool/wrapped-tool.ts";

/** `mine` and `state` are the run's own. */
const scope: RunScope = {
  run: "r1",
  nameOf: (name) => (["state", "mine"].includes(name) ? `${name}_r1` : name),
};

/** A conversation in which a run has variables of its own. */
function conversation(): MemoryStore {
  const store = new MemoryStore();
  store.save({ name: "state", value: { x: "the conversation's" } });
  store.save({ name: "rows", value: [{ id: 7 }] });
  store.save({ name: "state_r1", value: { x: "the run's" }, run: "r1" });
  return store;
}

describe("the variables as a run has them", () => {
  it("are the store's in everything that has no name in it", async () => {
    const store = conversation();
    const own = storeInRun(store, scope);
    expect([own.bytes(), own.runs(), own.couldBegin("ro")]).toEqual([store.bytes(), ["r1"], true]);
    expect(own.holds).toBe(store.holds);
    expect(own.list().map(({ name }) => name)).toEqual(["rows", "state"]);
    expect(own.list({ last: 1 }).map(({ name }) => name)).toEqual(["state"]);
    expect(own.list({ names: ["state"] })).toMatchObject([{ name: "state", scope: "run" }]);
    expect(own.count()).toBe(2);
  });

  it("are read and changed under the written name", async () => {
    const store = conversation();
    const own = storeInRun(store, scope);
    expect(await own.save({ name: "mine", value: 1 })).toMatchObject({
      name: "mine",
      scope: "run",
    });
    expect(await own.saveAll([{ name: "mine", value: 2 }, { value: 3 }])).toMatchObject([
      { name: "mine", version: 2 },
      { name: "variable_1", scope: "conversation" },
    ]);
    const prepared = await own.prepare({ name: "mine", value: 4 });
    prepared.commit();
    expect([store.read("mine_r1"), own.read("mine"), own.glance("mine")?.version]).toEqual([
      4, 4, 3,
    ]);
    const open = own.open("mine");
    expect(new TextDecoder().decode(await open?.read(0, 1))).toBe("4");
    open?.close();
    expect(own.update("mine", { pinned: true })).toMatchObject({ name: "mine", pinned: true });
    expect(own.update("nothing", {})).toBeUndefined();
    expect([own.delete("mine"), own.info("mine"), own.delete("mine")]).toEqual([
      true,
      undefined,
      false,
    ]);
    store.endRun("r1");
    expect(own.tombstone("state")).toMatchObject({ name: "state", reason: "run_ended" });
    expect(own.tombstone("rows")).toBeUndefined();
  });

  it("are so, too, where saving takes its time", async () => {
    class Slow extends MemoryStore {
      override save(write: Write) {
        return Promise.resolve(super.save(write));
      }

      override saveAll(writes: readonly Write[]) {
        return Promise.resolve(super.saveAll(writes));
      }
    }
    const store = new Slow();
    const own = storeInRun(store, scope);
    const write = { name: "mine", value: 1 };
    expect(await own.save(write)).toMatchObject({ name: "mine", scope: "run" });
    expect(await own.saveAll([write])).toMatchObject([{ name: "mine", version: 2 }]);
    expect(store.list()).toMatchObject([{ name: "mine_r1" }]);
  });

  it("may end as a run's own do, and be the conversation's", () => {
    const store = new MemoryStore();
    store.save({ name: "rows_r1", value: 1 });
    expect(storeInRun(store, scope).list()).toMatchObject([{ name: "rows_r1" }]);
  });
});
