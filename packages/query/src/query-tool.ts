import * as z from "zod";
import { ByrefError } from "../../../src/errors.ts";
import {
  type CallOptions,
  keptInput,
  type RuntimeTool,
  runtimeTool,
  type SaveTarget,
  saveTargets,
  saveAt,
  scopes,
  stageAll,
  toolInputs,
  UrlSources,
  type WrapOptions,
} from "../../../src/internal-tool.ts";
import { json, pickSyntaxes, targets, type Write } from "../../../src/internal.ts";
import type { Json, Syntax } from "../../../src/references.ts";
import { modelAccess } from "./model-access.ts";
import type { QueryDatabases } from "./query-databases.ts";
import { readStatement } from "./read-statement.ts";
import { runQuery } from "./run-query.ts";

const NAME = "query_variables";

const DESCRIPTION = `A SQLite SELECT on variables: records (their keys), arrays (value), objects (key, value), texts (line, text). FROM $a[*].b: a part; elsewhere $a.b is a value. Nested: JSON text.`;

const inputSchema = z.object({ sql: z.string(), saveAs: z.string().optional() });

export interface QueryToolOptions {
  readonly databases: QueryDatabases;
  readonly wrap: WrapOptions;
  /** Called with each query that has run. */
  readonly onQuery?: ((query: RanQuery) => void) | undefined;
}

/** A query, as an audit log may have it: without its text. */
export interface RanQuery {
  readonly variables: readonly string[];
  /** A digest of the statement. */
  readonly digest: string;
}

/**
 * `query_variables`: runs SQL over variables and saves the records. Refuses guarded variables, because what a
 * statement of the model's choice counts, orders or fails on would reveal them.
 */
export function queryTool({ databases, wrap, onQuery }: QueryToolOptions): RuntimeTool {
  return runtimeTool({
    name: NAME,
    description: DESCRIPTION,
    inputSchema,
    // A statement that took the process down would do so again.
    effects: "once",
    writes: ["saveAs"],
    reads: ({ sql }, syntaxes) => tablesIn(sql, syntaxes),
    async execute(input, context) {
      const { call, labels } = context;
      const places = call.saveTo ?? placesIn(input.saveAs, call, wrap);
      // In code, values are parts of the statement: nothing in it is a reference.
      const syntaxes = call.madeOf === undefined ? pickSyntaxes(wrap.syntaxes) : [];
      const sources = new UrlSources();
      const access = modelAccess(context, { databases, syntaxes, sources });
      const { records, variables, notes } = await runQuery(input.sql, access);
      if (call.signal.aborted) throw new ByrefError("tool_failed", `${NAME} was stopped.`);
      onQuery?.({ variables, digest: await toolInputs.digestOf(input.sql) });
      const value = json.parsedJson(records);
      if (await sources.hasUnknownUrl(value)) labels.compose();
      const write: Write = {
        value,
        name: {
          base: baseOf(variables),
          numbered: true,
          inputDigest: await toolInputs.digestOf(json.compact(input)),
        },
        tool: NAME,
        toolCallId: call.toolCallId,
        // A result that is saved under its own name again replaces itself.
        keepsVersion: input.saveAs !== undefined,
        ...(notes.length === 0 ? {} : { description: notes.join(" ") }),
        // A call from code contains values. One that replaces its own source cannot be repeated.
        ...(call.madeOf === undefined && !variables.includes(input.saveAs ?? "")
          ? keptInput(input)
          : {}),
        ...labels.ofResult(NAME, wrap.policies?.[NAME]),
      };
      const chosen = places === undefined ? [] : saveTargets.chosenPlaces(places);
      const writes = saveAt({ write, places: chosen, unresolved: [], notes, call }, wrap);
      return { output: null, save: () => stageAll(writes) };
    },
  });
}

/** Such as `orders_query` of `$orders_2`: says what was asked, where `query_7` would not. */
function baseOf(variables: readonly string[]): string {
  const tables = variables.map((name) => name.replace(/_\d+$/, "").replace(/_query$/, ""));
  const [first, second, ...others] = new Set(tables);
  return [first, others.length === 0 ? second : undefined, "query"].filter(Boolean).join("_");
}

/** Accepts a name as models write it. */
function placesIn(
  written: string | undefined,
  { scope }: CallOptions,
  { store }: WrapOptions,
): SaveTarget | undefined {
  return written === undefined
    ? undefined
    : scopes.targetFor(targets.referenceTo(targets.targetIn(written)), store, scope);
}

/** Returns the tables that a statement reads. None if it cannot be read; the call then fails. */
export function tablesIn(sql: Json | undefined, syntaxes: readonly Syntax[]): readonly string[] {
  if (typeof sql !== "string") return [];
  try {
    return readStatement(sql, syntaxes).tables.map(({ name }) => name);
  } catch {
    return [];
  }
}
