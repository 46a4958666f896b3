import * as z from "zod";
import * as limits from "../../../../src/limits.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { AUTHORITIES, type Authority, QueryDatabases } from "../query-databases.ts";
import { queryTools, type RanQuery } from "../query-tools.ts";
import { type QueryAccess, type QueryResult, runQuery } from "../run-query.ts";
import {
  type ConversationData,
  type ConversationParts,
  type Endpoint,
  endpoint,
  etagOf,
  logFailure,
  objectIn,
  parameters,
  placeIn,
  preferred,
  type QuerySupport,
  schemas,
  written,
  type appEnv,
  type contexts,
} from "../../../../src/internal-edge.ts";
import {
  csvText,
  json,
  Labels,
  pickSyntaxes,
  sequences,
  targets,
  referenceTexts,
  contents,
} from "../../../../src/internal.ts";
import {
  scopes,
  toolFiles,
  toolInputs,
  type wraps,
  type toolboxes,
} from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";
import { type QueryEngine, remoteEngine } from "../query-engine.ts";

const queryBody = z.strictObject({
  sql: z.string().max(limits.maxStatementChars),
  saveAs: z.string().optional().describe("Saves the records; answers the variable's metadata"),
});

const CSV = "text/csv";
const MARKDOWN = "text/markdown";
const OFFERS = ["application/json", contents.RECORDS_TYPE, CSV, MARKDOWN] as const;

const records = z.array(z.looseObject({}));

const query: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/query",
  {
    summary: "Runs one SQL SELECT over variables, which are its tables",
    body: queryBody,
    answers: {
      200: {
        "application/json": records,
        [contents.RECORDS_TYPE]: parameters.text.describe("One record per line"),
        [CSV]: parameters.text,
        [MARKDOWN]: parameters.text.describe("A table"),
      },
      201: { "application/json": schemas.variable },
    },
  },
  async ({ body: { sql, saveAs }, params: { id }, request }, { context }) => {
    const tables = tablesOf(context);
    const store = new scopes.ScopedStore(context.store);
    const labels = new Labels(store);
    const result = await runQuery(sql, accessOf(store, tables.databases, labels));
    tables.log({ variables: result.variables, digest: await toolInputs.digestOf(sql) });
    if (saveAs !== undefined) return saved(context, result, { id, saveAs, labels });
    context.settleSoon();
    return served(result, request.headers.get("accept"));
  },
);

/** A person may query sealed variables, and not secret ones. */
function accessOf(
  store: scopes.ScopedStore,
  databases: QueryDatabases,
  labels: Labels,
): QueryAccess {
  const syntaxes = pickSyntaxes();
  const use = (name: string) => {
    const info = targets.usable(store, name);
    labels.add(name);
    return info;
  };
  return {
    store,
    databases,
    most: "person",
    syntaxes,
    read: sequences.anyValueAt,
    table: ({ name }) => use(name),
    parameter: async (source) => {
      const reference = referenceTexts.wholeReference(source, syntaxes)?.reference;
      if (reference === undefined || store.glance(reference.name) === undefined) return undefined;
      use(reference.name);
      return sequences.anyValueAt(store, reference);
    },
  };
}

/** Throws `not_configured`. */
function tablesOf({ queries }: contexts.ConversationContext) {
  const tables = queries instanceof ConversationTables ? queries : undefined;
  const databases = tables?.databases;
  if (databases !== undefined) return { databases, log: (query: RanQuery) => tables?.log(query) };
  throw new ByrefError("not_configured", NOT_CONFIGURED);
}

const NOT_CONFIGURED = `Queries need the binding TABLES. Export the class Tables, and add it to wrangler.toml, with a new migration tag:
[[durable_objects.bindings]]
name = "TABLES"
class_name = "Tables"
[[migrations]]
tag = "v3"
new_sqlite_classes = ["Tables"]`;

/** Saves the records, as guarded as the variables that they come from. */
async function saved(
  context: contexts.ConversationContext,
  { records: rows, notes }: QueryResult,
  { id, saveAs, labels }: { readonly id: string; readonly saveAs: string; readonly labels: Labels },
): Promise<Response> {
  const { name, path } = targets.targetIn(saveAs);
  if (path.length > 0)
    throw new ByrefError("bad_path", "saveAs is a variable's name, without a path.");
  if (name === "input") throw new ByrefError("bad_name", "input cannot be written.");
  const isNew = context.store.glance(name) === undefined;
  const info: VariableInfo = await new scopes.ScopedStore(context.store).save({
    name,
    value: json.parsedJson(rows),
    keepsVersion: true,
    // A note has a cell.
    ...(notes.length === 0 || labels.isGuarded ? {} : { description: notes.join(" ") }),
    ...labels.ofResult("query", { source: "caller" }),
  });
  await context.settle();
  const location = `/conversations/${id}/variables/${name}`;
  const headers = { etag: etagOf(info), location, ...headerOf(notes) };
  return Response.json(info, { status: isNew ? 201 : 200, headers });
}

/** The notes as a JSON array, in ASCII. */
function headerOf(notes: readonly string[]): Readonly<Record<string, string>> {
  if (notes.length === 0) return {};
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return { "x-byref-notes": JSON.stringify(notes).replaceAll(/[^ -~]/g, escaped) };
}

function served({ records: rows, columns, notes }: QueryResult, accept: string | null): Response {
  const type = preferred(accept, OFFERS);
  const headers = {
    "content-type": type.startsWith("text/") ? `${type}; charset=utf-8` : type,
    vary: "accept",
    ...headerOf(notes),
  };
  if (type === "application/json") return new Response(rows, { headers });
  // A query returns an array of objects.
  const value = json.parsedJson(rows) as readonly Json[];
  if (type === CSV) return new Response(csvText(value, columns), { headers });
  return new Response(type === MARKDOWN ? toolFiles.markdown(value) : written(value, type), {
    headers,
  });
}

/** Pass it to `createRuntime`, and export `Tables` as a class bound as `TABLES`. */
export const queries: QuerySupport = {
  open: (context) => new ConversationTables(context),
  api: { conversation: [query], components: { QueryBody: queryBody } },
};

/** In the table `meta`: the databases that have had tables, and whether copies are to be deleted from them. */
type Mark = `tables ${Authority}` | "tables purge";

/** A conversation's databases, which are in objects of their own (`tables.ts`), and its queries. */
class ConversationTables implements contexts.ConversationQueries {
  /** Undefined without the binding `TABLES`. */
  readonly databases: QueryDatabases | undefined;
  readonly #context: contexts.ConversationContext;
  /** Undefined before they are read. */
  #marks: Set<Mark> | undefined;
  #purging: Promise<void> | undefined;
  /** True if a variable has changed since copies were last deleted. */
  #isStale = false;

  constructor(context: contexts.ConversationContext) {
    this.#context = context;
    const { TABLES }: Partial<appEnv.Bindings> = context.env;
    if (TABLES === undefined) return;
    this.databases = new QueryDatabases((authority) =>
      remoteEngine(
        () => this.#connect(TABLES, authority),
        () => this.#mark(`tables ${authority}`),
      ),
    );
    // Cheap and rare: a deleted conversation leaves no copies of its values.
    context.deletion.onMarked(() => this.#clear());
  }

  toolsFor(wrap: wraps.WrapOptions): toolboxes.QueryTools | undefined {
    const { databases } = this;
    if (databases === undefined) return undefined;
    return queryTools({ databases, wrap, onQuery: (query) => this.log(query) });
  }

  log(query: RanQuery): void {
    this.#context.data?.events.add({ type: "variables.queried", query });
  }

  watch({ store }: ConversationData): void {
    this.databases?.watch(store, () => {
      if (this.#used.length === 0) return;
      // In the transaction of the change, so that a crash cannot come between.
      this.#mark("tables purge");
      this.#isStale = true;
      this.#inBackground(Promise.resolve().then(() => this.purged()));
    });
  }

  async purged(): Promise<void> {
    if (this.databases === undefined || !this.#read().has("tables purge")) return;
    this.#purging ??= this.#purge(this.databases).finally(() => {
      this.#purging = undefined;
    });
    await this.#purging;
  }

  async #purge(databases: QueryDatabases): Promise<void> {
    do {
      // Other variables may change meanwhile.
      this.#isStale = false;
      await databases.clear(this.#used);
    } while (this.#isStale);
    this.#marks?.delete("tables purge");
    this.#context.sql.run(`DELETE FROM meta WHERE key = 'tables purge'`);
  }

  #connect(namespace: DurableObjectNamespace, authority: Authority): QueryEngine {
    const { settings, state } = this.#context;
    const { jurisdiction } = state.id;
    const named = objectIn(namespace, `${state.id} ${authority}`, { settings, jurisdiction });
    // The namespace is bound to TablesObject; see `conversation-of.ts`.
    return named as unknown as QueryEngine;
  }

  get #used(): readonly Authority[] {
    const marks = this.#read();
    return AUTHORITIES.filter((authority) => marks.has(`tables ${authority}`));
  }

  #read(): Set<Mark> {
    if (this.#marks !== undefined) return this.#marks;
    const rows = this.#context.sql.all(`SELECT key FROM meta WHERE key LIKE 'tables %'`);
    // Written by `#mark`.
    this.#marks = new Set(rows.map(({ key }) => key as Mark));
    return this.#marks;
  }

  #mark(mark: Mark): void {
    if (this.#read().has(mark)) return;
    this.#read().add(mark);
    this.#context.sql.run(`INSERT OR IGNORE INTO meta (key, value) VALUES (?, '1')`, mark);
  }

  #clear(): void {
    this.#inBackground(this.databases?.clear(AUTHORITIES) ?? Promise.resolve());
    this.#marks = undefined;
  }

  #inBackground(work: Promise<void>): void {
    this.#context.state.waitUntil(
      work.catch((error: unknown) => logFailure(error, placeIn(this.#context, "tables"))),
    );
  }
}
