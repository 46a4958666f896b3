import * as z from "zod";
import { ByrefError, requireAtMost } from "../../../src/errors.ts";
import type { editedValues } from "../../../src/internal-tool.ts";
import {
  saveTargets,
  scopes,
  toolInputs,
  UrlSources,
  keptInput,
  type wraps,
  toolCalls,
  runtimeTools,
  type toolboxes,
} from "../../../src/internal-tool.ts";
import {
  characters,
  charsOf,
  json,
  pickSyntaxes,
  sequences,
  targets,
  Work,
  type stores,
} from "../../../src/internal.ts";
import { type Json, readPath, type Syntax } from "../../../src/references.ts";
import type { QueryDatabases } from "./query-databases.ts";
import { readStatement } from "./read-statement.ts";
import {
  POSITION,
  prepareQuery,
  type QueryAccess,
  type QueryResult,
  runQuery,
} from "./run-query.ts";
import * as limits from "../../../src/limits.ts";
import { queryProblem } from "./query-problem.ts";

const NAME = "query_variables";

const DESCRIPTION = `A SQLite SELECT on variables: records (their keys), arrays (value), objects (key, value), texts (line, text). FROM $a[*].b: a part; elsewhere $a.b is a value. Nested: JSON text.`;

const inputSchema = z.object({ sql: z.string(), saveAs: z.string().optional() });

interface QueryToolOptions {
  readonly databases: QueryDatabases;
  readonly wrap: wraps.WrapOptions;
  readonly onQuery?: ((query: RanQuery) => void) | undefined;
}

/** A query, as an audit log may have it: without its text. */
export interface RanQuery {
  readonly variables: readonly string[];
  readonly digest: string;
}

/**
 * `query_variables`: runs SQL over variables and saves the records. Refuses guarded variables, because what a
 * statement of the model's choice counts, orders or fails on would reveal them.
 */
function queryTool({ databases, wrap, onQuery }: QueryToolOptions): runtimeTools.RuntimeTool {
  return runtimeTools.runtimeTool({
    name: NAME,
    description: DESCRIPTION,
    inputSchema,
    // A statement that took the process down would do so again.
    effects: "once",
    writes: ["saveAs"],
    reads: ({ sql }, syntaxes) => tablesIn(sql, syntaxes),
    async execute(input, context) {
      const { call, labels } = context;
      const { saveAs } = input;
      const named = (name: string) =>
        scopes.targetFor(targets.referenceTo(targets.targetIn(name)), wrap.store, call.scope);
      const places = call.saveTo ?? (saveAs === undefined ? undefined : named(saveAs));
      // In code, values are parts of the statement: nothing in it is a reference.
      const syntaxes = call.madeOf === undefined ? pickSyntaxes(wrap.syntaxes) : [];
      const sources = new UrlSources();
      const access = modelAccess(context, databases, syntaxes, sources);
      const { records, variables, notes } = await runQuery(input.sql, access);
      if (call.signal.aborted) throw new ByrefError("tool_failed", `${NAME} was stopped.`);
      onQuery?.({ variables, digest: await toolInputs.digestOf(input.sql) });
      const value = json.parsedJson(records);
      if (await sources.hasUnknownUrl(value)) labels.compose();
      const write: stores.Write = {
        value,
        name: {
          base: baseOf(variables),
          numbered: true,
          inputDigest: await toolInputs.digestOf(json.compact(input)),
        },
        tool: NAME,
        toolCallId: call.toolCallId,
        // A result that is saved under its own name again replaces itself.
        keepsVersion: saveAs !== undefined,
        ...(notes.length === 0 ? {} : { description: notes.join(" ") }),
        // A call from code contains values. One that replaces its own source cannot be repeated.
        ...(call.madeOf === undefined && !variables.includes(saveAs ?? "") ? keptInput(input) : {}),
        ...labels.ofResult(NAME, wrap.policies?.[NAME]),
      };
      const chosen = places === undefined ? [] : saveTargets.chosenPlaces(places);
      const writes = toolCalls.saveAt({ write, places: chosen, unresolved: [], notes, call }, wrap);
      return { output: null, save: () => toolCalls.stageAll(writes) };
    },
  });
}

/** Such as `orders_query` of `$orders_2`: says what was asked, where `query_7` would not. */
function baseOf(variables: readonly string[]): string {
  const tables = variables.map((name) => name.replace(/_\d+$/, "").replace(/_query$/, ""));
  const [first, second, ...others] = new Set(tables);
  return [first, others.length === 0 ? second : undefined, "query"].filter(Boolean).join("_");
}

/** Returns the tables that a statement reads. None if it cannot be read; the call then fails. */
function tablesIn(sql: Json | undefined, syntaxes: readonly Syntax[]): readonly string[] {
  if (typeof sql !== "string") return [];
  try {
    return readStatement(sql, syntaxes).tables.map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Returns a model's access to variables whose values it may see. `sources` receives what the statement reads. */
function modelAccess(
  { store, labels, resolve }: runtimeTools.RuntimeToolContext,
  databases: QueryDatabases,
  syntaxes: readonly Syntax[],
  sources?: UrlSources,
): QueryAccess {
  const used = new Set<string>();
  return {
    store,
    databases,
    most: "visible",
    syntaxes,
    read: sequences.valueAt,
    table: (target) => {
      const info = targets.readable(store, target.name);
      labels.add(info.name);
      const source = targets.referenceTo(target);
      if (!used.has(source)) {
        used.add(source);
        // A value that is too large to be read has no known URLs.
        sources?.add(() => sequences.valueAt(store, target).catch(() => null));
      }
      return info;
    },
    parameter: async (source) => {
      const { value, unresolved } = await resolve(source).finally(() => {
        // Takes precedence over any other error.
        if (!labels.isGuarded) return;
        const message = "A query cannot compare with a sealed or secret value.";
        throw new ByrefError("variable_sealed", message);
      });
      if (unresolved.length > 0) return undefined;
      sources?.add(() => value);
      return value;
    },
  };
}

interface Editing extends QueryToolOptions {
  readonly target: targets.Target;
  readonly context: runtimeTools.RuntimeToolContext;
}

/** Resolves all conditions first: none may compare with a guarded value that is put in. */
async function resolvedChanges(
  edits: readonly editedValues.RecordEdit[],
  editing: Editing,
): Promise<editedValues.ResolvedChanges> {
  const { target, context } = editing;
  const conditions: { readonly where: string; readonly find: FindRecords }[] = [];
  for (const { where } of edits) {
    conditions.push({ where, find: await searchFor(where, editing) });
  }
  const changes: json.JsonObject[] = [];
  for (const { set = {} } of edits) {
    const values = new Map<string, Json>();
    for (const [column, written] of Object.entries(set))
      values.set(column, (await context.resolve(written)).value);
    changes.push(Object.fromEntries(values));
  }
  if (context.labels.isGuarded && changes.length > 1) {
    // The second condition would search what the first edit has put in.
    const message = "Records take a guarded value in a call with one edit.";
    throw new ByrefError("variable_sealed", message);
  }
  return { kind: "records", count: changes.length, apply };

  async function apply(before: Json): Promise<readonly Json[]> {
    if (!json.isJsonArray(before)) throw noRecords(target);
    let records: readonly Json[] = before;
    for (const [index, { where, find }] of conditions.entries()) {
      const set = changes[index] ?? {};
      const found = await find(records === before ? undefined : records);
      if (found.length === 0) {
        const message = `No record of ${targets.referenceTo(target)} has ${characters.clip(where, 200)}. Read it with read_variable.`;
        throw new ByrefError("edit_not_found", message);
      }
      const maximum = limits.maxJsonBytes;
      const size = charsOf(records, maximum) + found.length * charsOf(set, maximum);
      requireAtMost(["maxJsonBytes", maximum], size, "Set shorter values, or in fewer records.");
      const changed = [...records];
      for (const at of found) {
        const record = changed[at];
        if (record === undefined || !json.isJsonObject(record)) throw noRecords(target);
        changed[at] = Object.freeze({ ...record, ...set });
      }
      records = Object.freeze(changed);
    }
    return records;
  }
}

/**
 * Returns the positions of the records for which a condition is true, without duplicates. `changed`: what the
 * stored records have become; they keep their number. Throws the errors of queries.
 */
type FindRecords = (changed?: readonly Json[]) => Promise<readonly number[]>;

async function searchFor(where: string, editing: Editing): Promise<FindRecords> {
  const { databases, wrap, onQuery, target, context } = editing;
  // In code, values are parts of the condition: nothing in it is a reference.
  const syntaxes = context.call.madeOf === undefined ? pickSyntaxes(wrap.syntaxes) : [];
  const access = { ...modelAccess(context, databases, syntaxes), first: target };
  const query = await prepareQuery(statementFor(where, target), access);
  const digest = await toolInputs.digestOf(where);
  return async (changed) => {
    let isNeeded = true;
    const read: sequences.ReadTarget = async (_store, { path }) => {
      const reading = readPath(changed ?? null, path.slice(target.path.length), new Work());
      return reading.found ? reading.value : null;
    };
    const key = `${target.name} ${crypto.randomUUID()}`;
    const replacing = changed && { key, read, isNeeded: () => isNeeded };
    try {
      const result = await query(replacing);
      onQuery?.({ variables: result.variables, digest });
      const [note] = result.notes;
      if (note !== undefined) {
        // The note has a cell.
        const isHidden = context.hidesUntrusted && context.labels.hasUntrusted;
        const said = isHidden ? "The condition takes texts for numbers: write CAST." : note;
        throw queryProblem(`${said} Nothing was changed.`, { sql: where });
      }
      return positionsIn(result);
    } finally {
      isNeeded = false;
      // The engine would keep what is stored nowhere for an hour.
      if (replacing !== undefined) await databases.clear();
    }
  };
}

const NOWHERE: targets.Target = { name: "records", path: [] };

/** The condition is on separate lines, so that a comment in it ends. */
function statementFor(where: string, { name, path }: targets.Target): string {
  const last = path.findLast((segment) => "key" in segment);
  // The records have a name as in `FROM $name.path`.
  const alias = last === undefined || !/^\w+$/.test(last.key) ? name : last.key;
  return `SELECT "${POSITION}" AS at FROM "${alias}" WHERE (\n${where}\n)`;
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

function noRecords(target: targets.Target): ByrefError {
  const message = `{where, set} changes arrays of objects; ${targets.referenceTo(target)} has other values. Change it with a JSON Patch: [{op, path, value}].`;
  return new ByrefError("bad_value", message);
}

/** Records to edit are found by the engine of queries, within its limits. */
export function queryTools(options: QueryToolOptions): toolboxes.QueryTools {
  const records: editedValues.RecordEdits = {
    resolve: (edits, of) => resolvedChanges(edits, { ...of, ...options }),
    tablesIn: (where, syntaxes) => tablesIn(statementFor(where, NOWHERE), syntaxes).slice(1),
  };
  return { query: queryTool(options), records };
}
