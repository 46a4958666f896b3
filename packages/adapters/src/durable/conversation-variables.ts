import type {
  OutputInterface as Output,
  PrepareStepFunction,
  TextStreamPart,
  Tool,
  ToolSet,
} from "ai";
import {
  asWritten,
  expandOutput,
  expandResponse,
  expandStream,
  type ShownText,
} from "../agent/expand-answer.ts";
import {
  type InstructionStyle,
  type SummaryOptions,
  listingVariables,
  summaryOf,
} from "../agent/step-prompt.ts";
import { type VariableToolName, variableTools } from "../agent/variable-tools.ts";
import { type WithVariables, wrapTools } from "../agent/wrap-tools.ts";
import { remoteEngine, type QueryEngine } from "../../../query/src/query-engine.ts";
import { AUTHORITIES, type Authority, QueryDatabases } from "../../../query/src/query-databases.ts";
import { DurableSql, R2Blobs } from "../../../../src/internal-edge.ts";
import {
  Taint,
  type VariableStore,
  json,
  type sqlRows,
  migrations,
  sqlStores,
} from "../../../../src/internal.ts";
import type { wraps } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { exportStore } from "../../../transfer/src/variable-records.ts";
import { shownTexts } from "./shown-texts.ts";
import { CLEAR_AFTER_MS, stagedImport } from "./staged-import.ts";
import { ownAlarm, type SchedulingAgent, scheduledSweep } from "./sweep-alarm.ts";

/** The state of a Durable Object with SQLite, as its constructor receives it. */
export type ObjectState = Pick<DurableObjectState, "id" | "storage">;

export interface ConversationVariablesOptions extends Omit<wraps.WrapOptions, "store" | "taint"> {
  /** Bucket for values over 8 MiB, and bytes over 64 KiB. Default: all values are rows of the object. */
  readonly bucket?: R2Bucket;
  /**
   * The namespace that is bound to the class `Tables` of `byref`, for `query_variables` and for edits of records
   * by a condition. Queries run in an object of that class, one for each object with variables, and never in
   * this one. It has copies of the values that were queried, for an hour after the last query.
   */
  readonly tables?: DurableObjectNamespace;
  /**
   * Owner of the object's one alarm. `shared`: the object owns it, and calls `sweep` at `nextAlarm`; if it does
   * not, nothing is ever evicted. `own`: the variables own it, and the object's `alarm()` calls `sweep`. Default:
   * `shared`, because this package cannot detect whether the object has an alarm.
   */
  readonly alarm?: "own" | "shared";
  /** The object itself, if it is an agent of the Agents SDK: its scheduler then calls `sweep`. */
  readonly agent?: SchedulingAgent;
  /** Size of all values together, in bytes. Default: `maxConversationBytes`. */
  readonly quotaBytes?: number;
  /** Time after which an unused variable is evicted, in milliseconds. Default: `variableIdleMs`. */
  readonly idleMs?: number;
  /** Length of the guide to references. Default: as `listingVariables`. */
  readonly instructionStyle?: InstructionStyle;
}

/** A `prepareStep` for tools and contexts of any type. */
export type PrepareAnyStep = <Tools extends ToolSet, Context extends Record<string, unknown>>(
  ...step: Parameters<PrepareStepFunction<Tools, Context>>
) => ReturnType<PrepareStepFunction<Tools, Context>>;

/** The variables of one conversation in any Durable Object, with what its agent needs to use them. */
export interface ConversationVariables {
  /** The tables are created at the first use. */
  readonly store: VariableStore;
  /** Wraps an agent's tools: inputs take references, results are saved. */
  wrap<Tools extends ToolSet>(tools: Tools): WithVariables<Tools>;
  /** The tools with which a model looks into variables. `query_variables` needs the option `tables`. */
  tools<Name extends VariableToolName = VariableToolName>(options?: {
    readonly only?: readonly Name[];
  }): Record<Name, Tool<Json, Json>>;
  /**
   * `prepareStep` for `streamText` and `generateText`: lists the variables, and shows earlier answers as they were
   * written.
   */
  readonly prepareStep: PrepareAnyStep;
  /** `experimental_transform` for `streamText`: replaces the references in texts by their values. */
  readonly transform: <Tools extends ToolSet>() => TransformStream<
    TextStreamPart<Tools>,
    TextStreamPart<Tools>
  >;
  /** Replaces the references in a response of `toUIMessageStreamResponse` by their values. */
  expand(response: Response): Response;
  /**
   * `output` for `streamText` and `generateText`, of which any part may be a reference. The text of such a turn is
   * JSON for programs: pass neither `transform` nor `expand` for it.
   */
  output<Complete, Partial, Element>(
    output: Output<Complete, Partial, Element>,
  ): Output<Complete, Partial, Element>;
  /** Summarizes the variables as Markdown for a prompt. */
  summary(options?: SummaryOptions): string;
  /** Time at which `sweep` is due, in milliseconds since 1970; undefined if nothing is due. */
  nextAlarm(): number | undefined;
  /** Evicts what is due and removes bytes that belong to no variable. May be called at any time. */
  sweep(): Promise<void>;
  /**
   * Exports all variables as NDJSON, the format of `GET /conversations/:id/export`, created while it is read. Secrets
   * have no value in it, sealed values do. If a variable changes meanwhile, its last line says `conflict`.
   */
  export(): ReadableStream<Uint8Array>;
  /**
   * Imports such a file into an object without variables. Nothing of it is visible before its end. The file is trusted
   * as its sender is: labels are imported unchanged. Rejects with `bad_import` and the number of the line,
   * `bad_import`, `conversation_exists`, `conflict` or the error of a rejected value; the object is then as it was.
   */
  import(file: ReadableStream<Uint8Array>): Promise<void>;
  /**
   * Copies all variables: `into` imports the file in another object. Rejects with its error, `conflict` if a variable
   * changes meanwhile: nothing is imported then.
   */
  fork<Result>(into: (file: ReadableStream<Uint8Array>) => PromiseLike<Result>): Promise<Result>;
}

/**
 * Creates the variables of a conversation in a Durable Object that has tables, an alarm and a protocol of its
 * own. All tables have the prefix `byref_`; nothing else of the object is touched. Call it once for each
 * object, for example in a field of its class.
 */
export function conversationVariables(
  state: ObjectState,
  options: ConversationVariablesOptions = {},
): ConversationVariables {
  const { syntaxes, instructionStyle } = options;
  const sql = new DurableSql(state.storage);
  const taint = new Taint();
  let opened: Parts | undefined;
  const parts = () => (opened ??= open());
  const wrapOptions = (): wraps.WrapOptions => ({ ...options, store: parts().store, taint });
  const expanding = () => {
    const { shown } = parts();
    const onShown = (text: ShownText, key: object) => shown.keep(text, key);
    return { ...json.compact({ syntaxes }), onShown };
  };
  let listing: PrepareStepFunction<ToolSet> | undefined;
  const prepareStep: PrepareStepFunction<ToolSet> = async (step) => {
    listing ??= listingVariables({ ...wrapOptions(), ...json.compact({ instructionStyle }) });
    const messages = parts().shown.restored(asWritten(step.messages));
    return listing({ ...step, messages });
  };
  const variables: ConversationVariables = {
    get store() {
      return parts().store;
    },
    // Only messages and instructions are read and changed, whose types do not depend on the tools.
    prepareStep: prepareStep as unknown as PrepareAnyStep,
    transform: () => expandStream(parts().store, expanding()),
    wrap: (tools) => wrapTools(tools, wrapOptions()),
    tools: (chosen = {}) => {
      const { databases } = parts();
      return variableTools({ ...wrapOptions(), ...json.compact({ databases }), ...chosen });
    },
    expand: (response) => expandResponse(response, parts().store, expanding()),
    output: (output) => expandOutput(output, parts().store, expanding()),
    summary: (chosen) => summaryOf(parts().store, chosen),
    nextAlarm() {
      const { store, imports } = parts();
      // Garbage is due at once.
      const dueMs = store.hasGarbage() ? Date.now() : (store.nextDueMs() ?? Infinity);
      const nextMs = Math.min(dueMs, imports.dueMs());
      return nextMs === Infinity ? undefined : nextMs;
    },
    async sweep() {
      const { store, imports } = parts();
      store.flushAccess();
      let evicted = EVICTIONS;
      while (evicted === EVICTIONS) evicted = store.evictDue(Date.now(), EVICTIONS).length;
      if (store.hasGarbage()) await store.sweep();
      await imports.clear();
      await arm();
    },
    export: () => exportStore(parts().store, state.id.toString()),
    async import(file) {
      const { store, imports } = parts();
      // If the process ends, the alarm wakes the object, which then clears what was imported.
      await setAlarm?.(Date.now() + CLEAR_AFTER_MS);
      await imports.run(file, store);
      await arm();
    },
    fork: async (into) => into(variables.export()),
  };
  const { agent, alarm } = options;
  const shared = agent && scheduledSweep(agent, () => variables.sweep());
  const setAlarm = shared ?? (alarm === "own" ? ownAlarm(state.storage, sql, PREFIX) : undefined);
  /** Sets the alarm, if there is one and it is later than what is due. */
  const arm = async () => setAlarm?.(variables.nextAlarm() ?? Infinity);

  function open(): Parts {
    const openStore = (prefix: string) => storeWith(prefix, sql, state, options);
    const store = openStore(PREFIX);
    if (setAlarm !== undefined) {
      store.observe(() => void arm().catch((error: unknown) => console.error(error)));
    }
    const imports = stagedImport(sql, PREFIX, openStore);
    const databases = databasesFor(store, state, options);
    return { store, imports, shown: shownTexts(sql, PREFIX), ...json.compact({ databases }) };
  }

  return variables;
}

interface Parts {
  readonly store: sqlStores.SqlStore;
  readonly imports: ReturnType<typeof stagedImport>;
  readonly shown: ReturnType<typeof shownTexts>;
  readonly databases?: QueryDatabases;
}

/** The copies in them are deleted with the variables, or when they are idle. */
function databasesFor(
  store: sqlStores.SqlStore,
  { id }: ObjectState,
  { tables }: ConversationVariablesOptions,
): QueryDatabases | undefined {
  if (tables === undefined) return undefined;
  const connect = (authority: Authority) => {
    const name = tables.idFromName(`${id.toString()} ${authority}`);
    // The namespace is bound to TablesObject.
    return tables.get(name) as unknown as QueryEngine;
  };
  const databases = new QueryDatabases((authority) => remoteEngine(() => connect(authority)));
  databases.watch(store, () => {
    databases.clear(AUTHORITIES).catch((error: unknown) => console.error(error));
  });
  return databases;
}

function storeWith(
  prefix: string,
  sql: sqlRows.Sql,
  { id }: ObjectState,
  { bucket: r2, quotaBytes, idleMs }: ConversationVariablesOptions,
): sqlStores.SqlStore {
  const own = prefixedSql(sql, prefix);
  const isNew = migrations.migrate(own);
  const bucket = r2 && { blobs: new R2Blobs(r2), prefix: `${PREFIX}${id.toString()}/` };
  return new sqlStores.SqlStore(own, { isNew, ...json.compact({ quotaBytes, idleMs, bucket }) });
}

const PREFIX = "byref_";

const EVICTIONS = 500;

/** The tables of `migrations.ts` and of the stores, those of earlier versions included. */
const TABLES =
  "chunk(?:_1)?|earlier_version|event|garbage|message|meta|tombstone|turn|variable(?:_2)?";
/** A table that a statement names: after a keyword, before a column, or as the text that it looks for. */
const NAMES = new RegExp(
  `\\b((?:EXISTS|FROM|INTO|JOIN|TABLE|TO|UPDATE) )(${TABLES})\\b|\\b(${TABLES})\\.|(sqlite_master WHERE name = )\\?`,
  "gu",
);

/**
 * Adds a prefix to the tables of the store, so that they can be beside those of another application. `prefix`: letters,
 * digits and underscores.
 */
export function prefixedSql(sql: sqlRows.Sql, prefix: string): sqlRows.Sql {
  /** Prefixed statements by the original one. All statements are constants or differ in a few columns. */
  const statements = new Map<string, string>();
  return {
    run: (statement, ...bindings) => sql.run(prefixed(statement), ...bindings),
    all: (statement, ...bindings) => sql.all(prefixed(statement), ...bindings),
    transaction: (work) => sql.transaction(work),
  };

  function prefixed(statement: string): string {
    const known = statements.get(statement);
    if (known !== undefined) return known;
    const made = statement.replace(NAMES, (_, ...groups: readonly (string | undefined)[]) => {
      const [before, table, qualifier, looked] = groups;
      if (looked !== undefined) return `${looked}'${prefix}' || ?`;
      return qualifier === undefined ? `${before}${prefix}${table}` : `${prefix}${qualifier}.`;
    });
    statements.set(statement, made);
    return made;
  }
}
