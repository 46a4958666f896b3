/**
 * Compares queries over variables with the same statement on a real table in the same object: `npm run bench --
 * queries`. All times are measured in the client.
 */
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { ratioRows, report, type Row } from "./results.ts";
import { isQuick } from "./sides.ts";

const ROUNDS = isQuick ? 3 : 9;
const STATEMENT =
  "SELECT customer, count(*) AS n, sum(total) AS total FROM TABLE GROUP BY customer";

const classes = { CONVERSATIONS: "Conversation", TABLES: "Tables" };
const bundle = bundleWorker("tables/worker.toml", classes);
const server = await startWorkerd({ ours: { bundle, settings: { AUTH: "none", LOG: "off" } } });
const base = server.urls.ours;

function linesOf(count: number): string {
  const record = (id: number) => {
    const [customer, total, at] = [`customer ${id % 97}`, (id * 7) % 1_000, `2026-11-${id}`];
    return JSON.stringify({ id, customer, total, at });
  };
  return `${Array.from({ length: count }, (_, id) => record(id)).join("\n")}\n`;
}

async function timed(work: () => Promise<Response>): Promise<number> {
  const startMs = performance.now();
  const response = await work();
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return performance.now() - startMs;
}

const post = (path: string, body: string) =>
  fetch(`${base}${path}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });

function query(name: string, sql: string): Promise<Response> {
  return post(`/conversations/${name}/query`, JSON.stringify({ sql }));
}

async function put(name: string, lines: string): Promise<void> {
  const headers = { "content-type": "application/x-ndjson" };
  const at = `${base}/conversations/${name}/variables/rows`;
  await timed(() => fetch(at, { method: "PUT", body: lines, headers }));
}

/** Compares queries of so many records, whose table has been made, with a real table. */
async function compared(count: number, goal: number): Promise<Row> {
  const lines = linesOf(count);
  const again: number[] = [];
  const real: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const name = `${count}-${round}`;
    await put(name, lines);
    await timed(() => fetch(`${base}/real/${name}`, { method: "PUT", body: lines }));
    const ask = () => timed(() => query(name, STATEMENT.replace("TABLE", "rows")));
    const askReal = () => timed(() => post(`/real/${name}`, STATEMENT.replace("TABLE", "real")));
    await ask();
    await askReal();
    for (let times = 0; times < 5; times++) {
      again.push(await ask());
      real.push(await askReal());
    }
  }
  const [row] = ratioRows({
    name: `query of ${count.toLocaleString("en-US")} records, again`,
    samples: { ours: again, "a real table": real },
    unit: "ms",
    against: { "a real table": goal },
  });
  if (row === undefined) throw new Error("There are no samples.");
  return row;
}

report({ rows: [await compared(5_000, 2), await compared(200_000, 8)] });
server.stop();
