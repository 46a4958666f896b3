/**
 * Checks the bounds of queries and edits other than speed: `npm run bench -- query-bounds`. Compares statements and
 * edits with other implementations, and measures rows written, memory, and the time to refuse statements. `--quick`
 * compares few.
 */
import { editedMemory } from "../test/support/edit-memory.ts";
import { compareEdits } from "../test/support/edit-scripts.ts";
import { compareQueries } from "../test/tool/query/generated-queries.ts";
import { refusedStatements } from "../test/tool/query/refused-statements.ts";
import type { Metered } from "./meter.ts";
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { plainRow, report, type Row } from "./results.ts";
import { isQuick } from "./sides.ts";
import { median } from "./statistics.ts";

const STATEMENTS = isQuick ? 50 : 500;
const SCRIPTS = isQuick ? 500 : 10_000;
/** Number of times that each statement is refused; the median counts. */
const ROUNDS = 5;
const CODES = new Set(["bad_query", "query_not_allowed", "query_too_expensive"]);

/** Returns a row with the value 1 if the work finds a difference. */
async function differing(name: string, count: number, work: () => Promise<void>): Promise<Row> {
  const found = await work().then(
    () => 0,
    (error: unknown) => {
      console.error(error);
      return 1;
    },
  );
  return plainRow({ name, value: found, unit: `of ${count.toLocaleString("en-US")}` }, 0);
}

const classes = { CONVERSATIONS: "Conversation", TABLES: "Tables" };
const bundle = bundleWorker("tables/worker.toml", classes);
const server = await startWorkerd({
  ours: { bundle },
  metered: { bundle, settings: { METER: "on" } },
});

async function put(base: string, name: string, lines: string): Promise<void> {
  const headers = { "content-type": "application/x-ndjson" };
  const at = `${base}/conversations/bounds/variables/${name}`;
  const response = await fetch(at, { method: "PUT", body: lines, headers });
  if (!response.ok) throw new Error(await response.text());
}

/** Returns the code of a refusal; undefined for records. */
async function refusal(base: string, sql: string): Promise<string | undefined> {
  const response = await fetch(`${base}/conversations/bounds/query`, {
    method: "POST",
    body: JSON.stringify({ sql }),
    headers: { "content-type": "application/json" },
  });
  return ((await response.json()) as { code?: string }).code;
}

async function refusals(): Promise<readonly Row[]> {
  const lines = Array.from({ length: 100_000 }, (_, id) => `{"id":${id},"k":${id % 3}}\n`).join("");
  for (const name of ["big", "other"]) {
    await put(server.urls.ours, name, lines);
    await refusal(server.urls.ours, `SELECT count(*) AS n FROM ${name}`);
  }
  let answered = 0;
  let slowestMs = 0;
  for (const sql of refusedStatements) {
    const samples: number[] = [];
    let code: string | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      const startMs = performance.now();
      code = await refusal(server.urls.ours, sql);
      samples.push(performance.now() - startMs);
    }
    slowestMs = Math.max(slowestMs, median(samples));
    if (code === undefined || !CODES.has(code)) answered++;
  }
  const unit = `of ${refusedStatements.length}`;
  return [
    plainRow({ name: "statements that must be refused, and are not", value: answered, unit }, 0),
    plainRow({ name: "slowest refusal of a statement", value: slowestMs, unit: "ms" }, 100),
  ];
}

/** The rows that the object of the tables writes for a value of 10 MB and one query. */
async function rowsWritten(): Promise<Row> {
  const record = (id: number) => `{"id":${id},"text":"${"t".repeat(480)}"}\n`;
  const lines = Array.from({ length: 20_000 }, (_, id) => record(id)).join("");
  await put(server.urls.metered, "rows", lines);
  const meter = async () =>
    (await (await fetch(`${server.urls.metered}/bench/meter`)).json()) as Metered;
  await meter();
  const code = await refusal(server.urls.metered, "SELECT count(*) AS n FROM rows");
  if (code !== undefined) throw new Error(code);
  const { rowsWritten: value } = await meter();
  return plainRow({ name: "rows written to make 10 MB queryable", value, unit: "rows" }, 12);
}

// Runs first, while little else is in memory.
const { mostBytes } = await editedMemory();
const memory = { name: "memory of an edit of 50 MB of text", value: mostBytes / 1_048_576 };
const rows = [
  plainRow({ ...memory, unit: "MiB" }, 16),
  await rowsWritten(),
  ...(await refusals()),
  await differing("generated statements that differ from SQLite", STATEMENTS, () =>
    compareQueries(STATEMENTS),
  ),
  await differing("random edits that differ from a naive implementation", SCRIPTS, () =>
    compareEdits(SCRIPTS),
  ),
];
server.stop();
report({ rows });
