import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import { sampled, samples } from "../../../test/support/slow.ts";
import { Editor, type Where } from "./editor.ts";
import {
  createTable,
  expression,
  KEYS,
  quoted,
  type Records,
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

interface Tables {
  readonly t: Records;
  readonly other: Records;
}

/** Returns the positions of the records that an UPDATE of a plain table changes; undefined if it fails. */
function foundBy({ t, other }: Tables, where: string): readonly unknown[] | undefined {
  const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: false });
  try {
    createTable(database, "t", t);
    createTable(database, "other", other);
    const updated = database.prepare(
      `UPDATE t SET "index" = "index" WHERE ${where} RETURNING "index"`,
    );
    return updated.all().map(({ index }) => index);
  } catch {
    return undefined;
  } finally {
    database.close();
  }
}

/** Other readings of the tables: numbers, or NULL, in place of the texts of one column or of all. */
function* readings({ t, other }: Tables): Generator<Tables> {
  const asNumber = (one: Json) =>
    typeof one !== "string"
      ? one
      : one.trim() !== "" && Number.isFinite(Number(one))
        ? Number(one)
        : null;
  const asNull = (one: Json) => (one === "" ? null : one);
  const changed = (records: Records, read: (one: Json) => Json, columns: readonly string[]) =>
    records.map((record) =>
      Object.fromEntries(
        Object.entries(record).map(([key, one]) => [key, columns.includes(key) ? read(one) : one]),
      ),
    );
  for (const read of [asNumber, asNull]) {
    for (const columns of [KEYS, ...KEYS.map((key) => [key]), ["new"]]) {
      yield { t: changed(t, read, columns), other };
      yield { t, other: changed(other, read, columns) };
      yield { t: changed(t, read, columns), other: changed(other, read, columns) };
    }
  }
}

/** True if a condition finds other records when texts are read as numbers, or empty ones as NULL. */
function isAmbiguous(tables: Tables, where: string): boolean {
  const found = JSON.stringify(foundBy(tables, where));
  return [...readings(tables)].some((other) => JSON.stringify(foundBy(other, where)) !== found);
}

it("random edits make the same changes as UPDATE on a plain table", sampled, async () => {
  let made = 0;
  const compare = async (t: Records, other: Records, changes: readonly Where[]) => {
    const editor = new Editor();
    for (const [name, value] of Object.entries({ t, other }))
      await editor.store.save({ name, value: value as Json });
    const refusal = await editor.refusal({ name: "t", edits: changes as unknown as Json });
    const after = (await editor.store.read("t")) as Records;
    let expected: Records | undefined = t;
    let mayBeRefused = false;
    for (const { where, set } of changes) {
      if (expected === undefined) break;
      const tables: Tables = { t: expected, other };
      const found = foundBy(tables, where) ?? [];
      mayBeRefused ||= refusal.endsWith("Nothing was changed.") && isAmbiguous(tables, where);
      expected =
        found.length === 0
          ? undefined
          : expected.map((one, at) => (found.includes(at) ? { ...one, ...set } : one));
    }
    if (expected === undefined || mayBeRefused) {
      expect(refusal).toMatch(/^(?:bad_query|edit_not_found)/);
      expect(after).toEqual(t);
    } else {
      made++;
      expect(refusal).toBe("done");
      expect(after).toEqual(expected);
    }
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
