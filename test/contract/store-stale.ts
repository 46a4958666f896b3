import { expect, it } from "vitest";
import type { Change } from "../../src/store/variable.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { Testing } from "./store-testing.ts";

/** Values that are made of versions of others, and whether those are current. */
export function staleness(at: Testing): void {
  const save = (name: string, ...sources: readonly string[]) => write(name, sources);
  const write = (name: string, sources: readonly string[], more: Partial<Write> = {}) => {
    const madeOf = Object.fromEntries(
      sources.map((source) => [source, at.store.glance(source)?.version ?? 0]),
    );
    return at.store.save({ name, value: `${name} of ${sources}`, madeOf, tool: "make", ...more });
  };
  /** What is newer than each stale value, as `orders 1 of 2`. */
  const stale = () =>
    Object.fromEntries(
      at.store.list().flatMap(({ name, stale: reason }) => {
        const newer = reason?.madeOf.map((one) => `${one.name} ${one.version} of ${one.now}`);
        expect(at.store.info(name)?.stale).toEqual(reason);
        return newer === undefined ? [] : [[name, newer.join(", ")]];
      }),
    );

  it("are stale with a new version of a source, and of what that is made of, until they are made again", async () => {
    await save("orders");
    await save("totals", "orders");
    await save("report", "totals", "orders");
    await save("other", "report");
    expect(stale()).toEqual({});
    await save("orders");
    const all = { totals: "orders 1 of 2", report: "orders 1 of 2", other: "orders 1 of 2" };
    expect(stale()).toEqual(all);
    at.store.forget();
    expect(stale()).toEqual(all);
    await save("totals", "orders");
    expect(stale()).toEqual({
      report: "totals 1 of 2, orders 1 of 2",
      other: "totals 1 of 2, orders 1 of 2",
    });
    await save("report", "totals", "orders");
    expect(stale()).toEqual({ other: "report 1 of 2" });
    await save("other", "report");
    expect(stale()).toEqual({});
  });

  it("stay as they are when a source is deleted or evicted, and are stale when it is there again", async () => {
    await save("orders");
    await save("totals", "orders");
    at.store.delete("orders");
    expect(stale()).toEqual({});
    await save("orders");
    expect(stale()).toEqual({ totals: "orders 1 of 1" });
  });

  it("are made of what they were made of before, if a write adds to them or an undo restores them", async () => {
    await save("orders");
    await save("text", "orders");
    await at.store.save({ name: "text", value: " and more", mode: "append" });
    await save("orders");
    expect(stale()).toEqual({ text: "orders 1 of 2" });
    await write("text", ["text", "orders"], { keepsVersion: true });
    expect(at.store.info("text")?.madeOf).toEqual({ text: 2, orders: 1 });
    await at.store.save({ name: "text", value: "given", keepsVersion: true });
    expect(stale()).toEqual({});
    at.store.undo("text");
    expect(stale()).toEqual({ text: "orders 1 of 2" });
  });

  it("that are made of each other are stale only if another write came between", async () => {
    await save("a");
    await save("b", "a");
    await save("a", "b");
    expect(stale()).toEqual({ b: "a 1 of 2" });
  });

  it("are named in the change that makes them stale, and are what they were if it is rolled back", async () => {
    const changes: (readonly string[] | undefined)[] = [];
    await save("orders");
    await save("totals", "orders");
    const note = (change: Change) => {
      changes.push("stale" in change ? change.stale : undefined);
      if (change.info.name === "refused") throw new Error("full");
    };
    at.store.observe(note);
    await expect(
      at.store.saveAll([
        { name: "orders", value: 1 },
        { name: "refused", value: 1 },
      ]),
    ).rejects.toThrow("full");
    expect(stale()).toEqual({});
    await save("orders");
    await save("totals", "orders");
    expect(changes).toEqual([["totals"], undefined, ["totals"], undefined]);
  });
}
