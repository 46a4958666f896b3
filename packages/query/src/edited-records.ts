import { ByrefError, requireAtMost } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import {
  characters,
  charsOf,
  json,
  type JsonObject,
  type Target,
  targets,
} from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";

/**
 * Returns the positions of the records for which a condition is true, without duplicates. `changed`: what the
 * stored records have become; they keep their number. Throws the errors of queries.
 */
export type FindRecords = (changed?: json.JsonArray) => Promise<readonly number[]>;

/** An edit of records: the columns to set in those for which a condition is true. */
export interface RecordChange {
  readonly where: string;
  readonly find: FindRecords;
  readonly set: JsonObject;
}

/** See `ResolvedChanges.apply`. */
export async function changedRecords(
  target: Target,
  before: Json,
  changes: readonly RecordChange[],
): Promise<json.JsonArray> {
  if (json.isScalar(before) || !json.isJsonArray(before)) throw noRecords(target);
  let records: json.JsonArray = before;
  for (const { where, find, set } of changes) {
    const found = await find(records === before ? undefined : records);
    if (found.length === 0) {
      const message = `No record of ${targets.referenceTo(target)} has ${characters.clip(where, 200)}. Read it with read_variable.`;
      throw new ByrefError("edit_not_found", message);
    }
    requireSize(records, found.length, set);
    const changed = [...records];
    for (const at of found) {
      const record = changed[at];
      if (record === undefined || json.isScalar(record) || !json.isJsonObject(record))
        throw noRecords(target);
      changed[at] = Object.freeze({ ...record, ...set });
    }
    records = Object.freeze(changed);
  }
  return records;
}

function requireSize(records: json.JsonArray, count: number, set: JsonObject): void {
  const maximum = limits.maxJsonBytes;
  const actual = charsOf(records, maximum) + count * charsOf(set, maximum);
  requireAtMost(["maxJsonBytes", maximum], actual, "Set shorter values, or in fewer records.");
}

function noRecords(target: Target): ByrefError {
  const message = `{where, set} changes arrays of objects; ${targets.referenceTo(target)} has other values. Change it with a JSON Patch: [{op, path, value}].`;
  return new ByrefError("bad_value", message);
}
