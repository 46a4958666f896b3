import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type SharedStore, sharedStore } from "../src/cli/state.ts";
import type { StoreOptions } from "../../../src/store/store-state.ts";
import { slow } from "../../../test/support/slow.ts";

const large = (letter: string) => letter.repeat(3_000_000);

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "shared-")), "variables.sqlite");
}

/** Opens two connections to one file, like two processes. */
function two(options: StoreOptions = {}): readonly [SharedStore, SharedStore] {
  const file = newFile();
  return [sharedStore(file, options), sharedStore(file, options)];
}

describe("a store of two processes", () => {
  it("shows each what the other one has written, replaced, renamed and deleted", async () => {
    const [one, other] = two();
    await one.save({ name: "a", value: { n: 1 } });
    expect(await other.read("a")).toEqual({ n: 1 });
    await other.save({ name: "a", value: { n: 2 } });
    expect(await one.read("a")).toEqual({ n: 2 });
    expect(one.glance("a")?.version).toBe(2);
    one.update("a", { description: "A" });
    expect(other.info("a")?.description).toBe("A");
    await other.save({ value: 1 });
    await one.save({ value: 2 });
    expect(other.list().map(({ name }) => name)).toEqual(["a", "variable_1", "variable_2"]);
    expect(other.bytes()).toBe(one.bytes());
    one.delete("a");
    expect(other.glance("a")).toBeUndefined();
    expect(await other.read("a")).toBeUndefined();
    expect(other.couldBegin("a")).toBe(false);
  });

  it("gives concurrent calls unique names, and loses no append", async () => {
    const [one, other] = two();
    await one.save({ name: "list", value: [] });
    const call = (inputDigest: string) => ({ base: "call", numbered: true, inputDigest });
    const write = async (store: SharedStore, first: number) => {
      for (let index = first; index < 100; index += 2) {
        await store.save({ name: call(String(index)), value: index });
        await store.save({ name: "list", mode: "append", value: [index] });
      }
    };
    await Promise.all([write(one, 0), write(other, 1)]);
    const names = one.list().map(({ name }) => name);
    expect(new Set(names).size).toBe(101);
    expect(other.list().map(({ name }) => name)).toEqual(names);
    const list = (await one.read("list")) as readonly number[];
    expect(new Set(list).size).toBe(100);
  });

  it("lets one finish reading a value that the other one replaces", slow, async () => {
    const [one, other] = two();
    await one.save({ name: "a", value: large("x") });
    const opened = other.open("a");
    await one.save({ name: "a", value: large("y") });
    await one.sweep();
    const read = await opened?.read(2_000_000, 3_000_000);
    expect(new TextDecoder().decode(read) === "x".repeat(1_000_000)).toBe(true);
    opened?.close();
    expect((await other.read("a")) === large("y")).toBe(true);
  });

  it(
    "can be created by processes that start at the same time, and has everything they wrote",
    slow,
    async () => {
      const file = newFile();
      const module = new URL("../src/cli/state.ts", import.meta.url).href;
      const run = (letter: string) =>
        promisify(execFile)(process.execPath, [
          "--input-type=module",
          "-e",
          `import { sharedStore } from ${JSON.stringify(module)};
         const store = sharedStore(${JSON.stringify(file)});
         for (let index = 0; index < 60; index++) {
           await store.save({ name: { base: "call", numbered: true, inputDigest: ${JSON.stringify(letter)} + index }, value: ${JSON.stringify(letter)} + index });
           await store.save({ name: "last", value: "${letter}".repeat(index * 3_000) });
         }
         store.close();`,
        ]);
      await Promise.all(["a", "b", "c"].map(run));
      const store = sharedStore(file);
      const infos = store.list({ last: 1_000 }).filter(({ name }) => name.startsWith("call"));
      const values = await Promise.all(infos.map(({ name }) => store.read(name)));
      expect(new Set(values).size).toBe(180);
      expect(store.info("last")?.version).toBe(180);
    },
  );
});
