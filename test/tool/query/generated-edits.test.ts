import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import { sampled, samples } from "../../support/slow.ts";
import { Editor, type Where } from "./editor.ts";
import {
  createTable,
  expression,
  KEYS,
  quoted,
  type Records,
  sqlOf,
  table,
  value,
} from "./generated-queries.ts";

const condition = fc.oneof(
  { weight: 3, arbitrary: expression },
  fc.constantFrom(...KEYS).map((key) => `${quoted(key)} = (SELECT max(${quoted(key)}) FROM t)`),
  fc.constantFrom('"index" < 3', "1"),
);
const change = fc.record({
  where: condition,
  set: fc.dictionary(fc.constantFrom(...KEYS, "new"), value, { minKeys: 1, maxKeys: 2 }),
});

/** Returns the rows after the same changes by UPDATE; undefined if one fails or changes nothing. */
function updated(database: DatabaseSync, changes: readonly Where[]) {
  for (const { where, set } of changes) {
    try {
      // Fails if the condition reads columns that only this change creates.
      database.prepare(`SELECT 1 FROM t WHERE ${where}`).all();
      const columns = database.prepare("SELECT name FROM pragma_table_info('t')").all();
      const known = new Set(columns.map(({ name }) => name));
      for (const key of Object.keys(set)) {
        if (!known.has(key)) database.exec(`ALTER TABLE t ADD COLUMN ${quoted(key)}`);
      }
      const setting = Object.entries(set).map(([key, one]) => `${quoted(key)} = ${sqlOf(one)}`);
      const { changes: count } = database
        .prepare(`UPDATE t SET ${setting.join(", ")} WHERE ${where}`)
        .run();
      if (count === 0) return undefined;
    } catch {
      return undefined;
    }
  }
  return rowsOf(database, "t");
}

function rowsOf(database: DatabaseSync, name: string) {
  const prepared = database.prepare(`SELECT * FROM ${name} ORDER BY "index"`);
  prepared.setReadBigInts(true);
  const rows = prepared.all() as unknown as readonly Readonly<Record<string, unknown>>[];
  return rows.map((row) => {
    // A key that a record lacks is NULL in its row.
    const entries = Object.entries(row).filter(([, one]) => one !== null);
    return Object.fromEntries(
      entries.map(([key, one]) => [key, typeof one === "bigint" ? Number(one) : one]),
    );
  });
}

it("random edits make the same changes as UPDATE on a plain table", sampled, async () => {
  let made = 0;
  const compare = async (t: Records, other: Records, changes: readonly Where[]) => {
    const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: false });
    const editor = new Editor();
    for (const [name, records] of Object.entries({ t, other })) {
      await editor.store.save({ name, value: records as Json });
      createTable(database, name, records);
    }
    const expected = updated(database, changes);
    const refusal = await editor.refusal({ name: "t", edits: changes as unknown as Json });
    const after = (await editor.store.read("t")) as Records;
    if (expected === undefined) {
      expect(refusal).toMatch(/^(?:bad_query|edit_not_found)/);
      expect(after).toEqual(t);
    } else {
      made++;
      expect(refusal).toBe("done");
      createTable(database, "after", after);
      expect(rowsOf(database, "after")).toEqual(expected);
    }
    database.close();
  };
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(table, table, changes, (t, other, all) =>
      compare(t as Records, other as Records, all as readonly Where[]),
    ),
    { numRuns: samples(300), seed: 24 },
  );
  expect(made).toBeGreaterThan(samples(300) / 6);
});
