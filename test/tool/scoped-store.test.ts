import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupFor, ScopedStore, targetFor } from "../../src/tool/scoped-store.ts";
import type { RunScope } from "../../src/tool/wrapped-tool.ts";
import { conversation, scope } from "../support/runtime-tool-calls.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";

it("the variables of a run exclude what the run cannot name, and methods of the whole store", async () => {
  const store = await conversation();
  const own = new ScopedStore(store, scope);
  expect(own.couldBegin("ro")).toBe(true);
  const wholes = ["endRun", "holds", "observe", "ofRun", "page", "reset", "runs", "transfer"];
  expect(wholes.filter((member) => member in own)).toEqual([]);
  expect(own.list().map(({ name }) => name)).toEqual(["rows", "state"]);
  expect(own.list({ last: 1 }).map(({ name }) => name)).toEqual(["state"]);
  expect(own.list({ names: ["state"] })).toMatchObject([{ name: "state", scope: "run" }]);
  expect(own.count()).toBe(2);
});

it("the variables of a run are read and changed under the name as written", async () => {
  const store = await conversation();
  const own = new ScopedStore(store, scope);
  expect(await own.save({ name: "mine", value: 1 })).toMatchObject({ name: "mine", scope: "run" });
  expect(await own.saveAll([{ name: "mine", value: 2 }, { value: 3 }])).toMatchObject([
    { name: "mine", version: 2 },
    { name: "variable_1", scope: "conversation" },
  ]);
  const prepared = await own.prepareAll([{ name: "mine", value: 4 }]);
  prepared.commit();
  expect([
    await store.read("mine_r1"),
    await own.read("mine"),
    own.glance("mine")?.version,
  ]).toEqual([4, 4, 3]);
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

const long = "n".repeat(64);
const owning: RunScope = {
  run: "r1",
  names: [long],
  ownsResults: true,
  nameOf: (name) => (name === long ? "_0_r1" : name),
};
const automatic = { base: "fetch", numbered: true, inputDigest: "1" };

it("the variables of a run that owns its results include results under their short names, beside the conversation's", async () => {
  const store = new MemoryStore();
  await store.save({ name: automatic, value: "outside", tool: "fetch" });
  const own = new ScopedStore(store, owning);
  const other = { ...automatic, inputDigest: "2" };
  const infos = await own.saveAll([
    { name: automatic, value: 1, tool: "fetch" },
    { name: other, value: 2, tool: "fetch" },
    { name: automatic, value: 3, tool: "fetch" },
  ]);
  expect(infos).toMatchObject([{ name: "fetch_2" }, { name: "fetch_3" }, { name: "fetch_2" }]);
  expect([await own.read("fetch_1"), await own.read("fetch_2"), await own.read("fetch_3")]).toEqual(
    ["outside", 3, 2],
  );
  expect(store.ofRun("r1")).toEqual(["fetch_3_r1", "fetch_2_r1"]);
  expect(store.list().map(({ scope }) => scope)).toEqual(["conversation", "run", "run"]);
  store.endRun("r1");
  expect(own.tombstone("fetch_2")).toMatchObject({ name: "fetch_2", reason: "run_ended" });
  expect(own.list()).toMatchObject([{ name: "fetch_1" }]);
});

describe.each([
  { title: "outside of runs", scope: undefined },
  { title: "in another run", scope: { run: "r2", nameOf: (name: string) => name } },
])("the variables $title", ({ scope }) => {
  it("exclude a run's own", async () => {
    const store = await conversation();
    const others = new ScopedStore(store, scope);
    expect(others.list().map(({ name }) => name)).toEqual(["state", "rows"]);
    expect(others.list({ last: 1 })).toMatchObject([{ name: "rows" }]);
    expect(others.count()).toBe(2);
    const name = "state_r1";
    expect([
      others.glance(name),
      others.info(name),
      await others.read(name),
      others.open(name),
    ]).toEqual([undefined, undefined, undefined, undefined]);
    expect([await others.readPath(name, []), others.update(name, { pinned: true })]).toEqual([
      undefined,
      undefined,
    ]);
    expect(others.delete(name)).toBe(false);
    for (const write of [
      async () => others.save({ name, value: 1 }),
      async () => others.saveAll([{ name, value: 1 }]),
      async () => others.prepareAll([{ name, value: 1 }]),
      async () => targetFor("$state_r1.x", store, scope),
    ]) {
      await expect(write()).rejects.toMatchObject({ code: "bad_name" });
    }
    const lookup = lookupFor(scope, store, {});
    expect(lookup({ name, path: [] })).toMatchObject({ found: false, reason: "unknown" });
    store.endRun("r1");
    expect(others.tombstone(name)).toBeUndefined();
    expect(lookup({ name, path: [] })).toMatchObject({ found: false, reason: "unknown" });
  });
});

it("references in a run report the store's names, and do not pass a run's own secret for a listed one", async () => {
  const store = await conversation();
  await store.save({ name: "mine_r1", value: "s", visibility: "secret", run: "r1" });
  await store.save({ name: "key", value: "k", visibility: "secret" });
  const used: string[] = [];
  const lookup = lookupFor(scope, store, {
    secrets: ["mine", "key"],
    onUsed: (name) => used.push(name),
  });
  expect(await lookup({ name: "state", path: [] })).toMatchObject({ found: true });
  expect(await lookup({ name: "key", path: [] })).toMatchObject({ found: true, value: "k" });
  expect(lookup({ name: "mine", path: [] })).toEqual({ found: false, reason: "secret" });
  expect(used).toEqual(["state_r1", "key"]);
});

it("references in a run name places as in the run", async () => {
  const store = await conversation();
  expect(targetFor("$state.x && $kept", store, scope).places).toMatchObject([
    { name: "state_r1", run: "r1", source: "$state.x" },
    { name: "kept", source: "$kept" },
  ]);
});

it("a sealed value that is replaced while it is read is still treated as sealed", async () => {
  const store = new MemoryStore();
  await store.save({ name: "v", value: "https://a.example/?sealed", visibility: "sealed" });
  const read = store.readPath.bind(store);
  store.readPath = async (name, path) => {
    const reading = await read(name, path);
    await store.save({ name: "v", value: "open", visibility: "model" });
    return reading;
  };
  const found = await lookupInStore(store)({ name: "v", path: [] });
  expect(found).toMatchObject({ value: "https://a.example/?sealed", inert: true });
});
