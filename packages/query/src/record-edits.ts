import { ByrefError, codeOf, limitExceeded } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { changedRecords, type FindRecords, type RecordChange } from "./edited-records.ts";
import {
  type Edit,
  incomplete,
  type RecordEdits,
  type ResolvedChanges,
  type RuntimeToolContext,
  toolInputs,
} from "../../../src/internal-tool.ts";
import { json, pickSyntaxes, type sequences, type Target, Work } from "../../../src/internal.ts";
import { type Json, type Path, readPath } from "../../../src/references.ts";
import { queryProblem } from "./query-problem.ts";
import { modelAccess } from "./model-access.ts";
import { type QueryToolOptions, tablesIn } from "./query-tool.ts";
import { type QueryResult, POSITION, prepareQuery } from "./run-query.ts";

/** Finds the records to edit with the engine of queries, within its limits. */
export function recordEdits(options: QueryToolOptions): RecordEdits {
  return {
    resolve: (edits, { target, context }) =>
      resolvedChanges(edits, { target, context, ...options }),
    tablesIn: (where, syntaxes) => tablesIn(statementFor(where, NOWHERE), syntaxes).slice(1),
  };
}

interface Editing extends QueryToolOptions {
  readonly target: Target;
  readonly context: RuntimeToolContext;
}

/** Resolves all conditions first: none may compare with a guarded value that is put in. */
async function resolvedChanges(edits: readonly Edit[], editing: Editing): Promise<ResolvedChanges> {
  const { target, context } = editing;
  const conditions: { readonly where: string; readonly find: FindRecords }[] = [];
  for (const [index, { where, set }] of edits.entries()) {
    if (where === undefined || set === undefined) throw incomplete(index, "where and set");
    conditions.push({ where, find: await searchFor(where, editing) });
  }
  const changes: RecordChange[] = [];
  for (const [index, condition] of conditions.entries()) {
    const values = new Map<string, Json>();
    for (const [column, written] of Object.entries(edits[index]?.set ?? {})) {
      values.set(column, (await context.resolve(written)).value);
    }
    changes.push({ ...condition, set: Object.fromEntries(values) });
  }
  if (context.labels.isGuarded && changes.length > 1) {
    // The second condition would search what the first edit has put in.
    const message = "Records take a guarded value in a call with one edit.";
    throw new ByrefError("variable_sealed", message);
  }
  const apply = (before: Json) => changedRecords(target, before, changes);
  return { kind: "records", count: changes.length, apply };
}

async function searchFor(where: string, editing: Editing): Promise<FindRecords> {
  const { databases, wrap, onQuery, target, context } = editing;
  // In code, values are parts of the condition: nothing in it is a reference.
  const syntaxes = context.call.madeOf === undefined ? pickSyntaxes(wrap.syntaxes) : [];
  const access = { ...modelAccess(context, { databases, syntaxes }), first: target };
  const query = await prepareQuery(statementFor(where, target), access);
  const digest = await toolInputs.digestOf(where);
  return async (changed) => {
    let isNeeded = true;
    const replacing = changed && {
      ...replacingBy(target, changed),
      isNeeded: () => isNeeded,
    };
    try {
      const result = await query({ replacing });
      onQuery?.({ variables: result.variables, digest });
      const [note] = result.notes;
      if (note !== undefined) {
        // The note has a cell.
        const isHidden = context.hidesUntrusted && context.labels.hasUntrusted;
        const said = isHidden ? "The condition takes texts for numbers: write CAST." : note;
        throw queryProblem(`${said} Nothing was changed.`, { sql: where });
      }
      return positionsIn(result);
    } catch (error) {
      throw codeOf(error) === "limit_exceeded" ? tooMany(error) : error;
    } finally {
      isNeeded = false;
      // The engine would keep what is stored nowhere for an hour.
      if (replacing !== undefined) await databases.purge();
    }
  };
}

const NOWHERE: Target = { name: "records", path: [] };

/** The condition is on separate lines, so that a comment in it ends. */
function statementFor(where: string, target: Target): string {
  return `SELECT "${POSITION}" AS at FROM "${aliasOf(target)}" WHERE (\n${where}\n)`;
}

/** The name of the records in a condition: as `FROM $name.path` has it. */
function aliasOf({ name, path }: Target): string {
  const last = path.findLast((segment) => "key" in segment);
  return last === undefined || !/^\w+$/.test(last.key) ? name : last.key;
}

function replacingBy(target: Target, value: json.JsonArray) {
  const read: sequences.ReadTarget = async (_store, { path }) =>
    partOf(value, path.slice(target.path.length));
  return { key: `${target.name} ${crypto.randomUUID()}`, read };
}

function partOf(value: json.JsonArray, path: Path) {
  const reading = readPath(value, path, new Work());
  return reading.found ? reading.value : null;
}

function positionsIn({ records }: QueryResult): readonly number[] {
  const positions = new Set<number>();
  // The statement has one column.
  for (const { at } of json.parsedJson(records) as readonly { readonly at: unknown }[]) {
    if (typeof at !== "number" || !Number.isInteger(at) || at < 0) {
      throw new ByrefError("bad_query", "where is a condition, as after WHERE.");
    }
    positions.add(at);
  }
  return [...positions];
}

function tooMany(error: unknown): unknown {
  const { limit, actual } = (error as Partial<ByrefError>).details ?? {};
  const maximum = limits.maxQueryRecords;
  if (limit !== "maxQueryRecords") return error;
  const advice = "Edit fewer records in one call.";
  return limitExceeded("maxQueryRecords", { maximum, actual: Number(actual), advice });
}
