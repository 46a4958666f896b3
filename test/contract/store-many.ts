import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Page } from "../../src/store/variable-store.ts";
import { namesOf } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

const COUNT = 10_000;
const VALUE_BYTES = 3_000;
/** Bytes that may be read of a variable without its value. */
const METADATA_BYTES = 700;

/** Many variables are listed without reading their values, and a few without reading the others. */
export function manyVariables(at: Testing): void {
  /** Returns names whose order is not alphabetical. */
  const nameOf = (index: number) => `v_${(index * 7_919) % COUNT}`;
  const all = Array.from({ length: COUNT }, (_, index) => nameOf(index));
  const value = "x".repeat(VALUE_BYTES);
  const bytesRead = (work: () => void) => {
    const before = at.ground.sql?.bytesRead ?? 0;
    work();
    return (at.ground.sql?.bytesRead ?? 0) - before;
  };

  it("are listed and paged in order", async () => {
    await at.store.saveAll(all.map((name) => ({ name, value })));
    at.store.forget();
    const bytes = bytesRead(() => {
      expect(at.store.count()).toBe(COUNT);
      expect(namesOf(at.store.list({ last: 20 }))).toEqual(all.slice(-20));
      expect(namesOf(at.store.list({ last: 0 }))).toEqual([]);
      expect(namesOf(at.store.list({ names: ["v_5", "nobody", "v_4"] })).toSorted()).toEqual([
        "v_4",
        "v_5",
      ]);
      expect(namesOf(at.store.list({ names: all.slice(100, 110), last: 3 }))).toEqual(
        all.slice(107, 110),
      );
      expect(at.store.nextDueMs()).toBeDefined();
      expect([at.store.couldBegin("v_99"), at.store.couldBegin("v_x")]).toEqual([true, false]);
    });
    // A few hundred entries, and the metadata of some thirty variables.
    expect(bytes).toBeLessThan(300 * 250 + 40 * METADATA_BYTES);
    const glances = () => {
      for (const name of all)
        if (at.store.glance(name)?.bytes !== VALUE_BYTES) throw new Error(name);
    };
    expect(bytesRead(glances)).toBeLessThan(COUNT * 250);
    const before = at.ground.sql?.bytesRead ?? 0;
    expect(namesOf(at.store.list())).toEqual(all);
    expect(namesOf(pages(at, 200).flatMap(({ variables }) => variables))).toEqual(all);
    expect(pages(at, 3_333).map(({ variables }) => variables.length)).toEqual([
      3_333, 3_333, 3_333, 1,
    ]);
    expect((at.ground.sql?.bytesRead ?? 0) - before).toBeLessThan(3 * COUNT * METADATA_BYTES);
    expect(at.store.page({ limit: COUNT }).next).toBeUndefined();
    expect(at.store.page({ limit: COUNT - 1 }).next).toBeDefined();
  });

  it("keep their position between pages, whatever is added or deleted", async () => {
    await at.store.saveAll(all.slice(0, 10).map((name) => ({ name, value: 1 })));
    const first = at.store.page({ limit: 4 });
    at.store.delete(all[3] ?? "");
    at.store.delete(all[5] ?? "");
    await at.store.save({ name: all[0] ?? "", value: 2 });
    await at.store.save({ name: "new", value: 2 });
    const rest = at.store.page({
      limit: 100,
      ...(first.next === undefined ? {} : { after: first.next }),
    });
    expect(namesOf(first.variables)).toEqual(all.slice(0, 4));
    expect(namesOf(rest.variables)).toEqual([all[4], ...all.slice(6, 10), all[0], "new"]);
    expect(rest.next).toBeUndefined();
  });

  it("are paged to the newest, even if the newest were deleted and the store woke up", async () => {
    await at.store.saveAll(all.slice(0, 3).map((name) => ({ name, value: 1 })));
    const [, second = "", third = ""] = all;
    const { next } = at.store.page({ limit: 2 });
    const after = next === undefined ? {} : { after: next };
    at.store.delete(second);
    at.store.delete(third);
    at.ground.nowMs += 1;
    at.fresh();
    await at.store.save({ name: "new", value: 1 });
    expect(namesOf(at.store.page({ limit: 2, ...after }).variables)).toEqual(["new"]);
  });

  it("are listed without long inputs", async () => {
    const input = { query: "é".repeat((limits.maxListedInputBytes - 12) / 2) };
    const longer = { query: `${input.query}x` };
    await at.store.saveAll([
      { name: "a", value: 1, input },
      { name: "b", value: 2, input: longer },
    ]);
    expect(at.store.list().map((info) => info.input)).toEqual([input, undefined]);
    expect(at.store.page({ limit: 5 }).variables.map((info) => info.input)).toEqual([
      input,
      undefined,
    ]);
    expect([at.store.info("a")?.input, at.store.info("b")?.input]).toEqual([input, longer]);
  });

  it("can exceed the variables of a single statement", async () => {
    const { sql } = at.ground;
    if (sql === undefined) return;
    const { name } = await at.store.save({ name: "first", value: 1 });
    const columns = sql
      .all(`SELECT name FROM pragma_table_info('variable')`)
      .map((row) => String(row["name"]));
    const values = columns.map((column) =>
      column === "name" ? `'v' || printf('%063d', i)` : column === "seq" ? "seq + i" : column,
    );
    sql.run(
      `INSERT INTO variable (${columns.join(", ")})
       WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 32000)
       SELECT ${values.join(", ")} FROM variable, numbers`,
    );
    at.fresh();
    const listed = namesOf(at.store.list());
    expect([listed.length, listed[0], listed.at(-1)?.length]).toEqual([32_001, name, 64]);
    expect(pages(at, 31_000)).toHaveLength(2);
  });
}

function pages(at: Testing, limit: number): readonly Page[] {
  const turned: Page[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: Page = at.store.page({ after, limit });
    turned.push(page);
    after = page.next;
  }
  return turned;
}
