/**
 * Compares queries over variables with the same statement on a real table in the same object: `npm run bench --
 * queries`. All times are measured in the client.
 */
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { plainRow, report, type Row } from "./results.ts";
import { isQuick } from "./sides.ts";
import { median } from "./statistics.ts";

const ROUNDS = isQuick ? 3 : 9;
const STATEMENT =
  "SELECT customer, count(*) AS n, sum(total) AS total FROM TABLE GROUP BY customer";

const classes = { CONVERSATIONS: "Conversation", TABLES: "Tables" };
const bundle = bundleWorker("tables/worker.toml", classes);
const server = await startWorkerd({ ours: { bundle, settings: { AUTH: "none", LOG: "off" } } });
const base = server.urls.ours;

function linesOf(count: number): string {
  const record = (id: number) =>
    JSON.stringify({
      id,
      customer: `customer ${id % 97}`,
      total: (id * 7) % 1_000,
      at: `2026-11-${id}`,
    });
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

/** Rows for one number of records: the first query and later ones, compared with a real table. */
async function compared(count: number, goal: number): Promise<readonly Row[]> {
  const lines = linesOf(count);
  const samples = {
    first: [] as number[],
    realFirst: [] as number[],
    again: [] as number[],
    real: [] as number[],
  };
  for (let round = 0; round < ROUNDS; round++) {
    const name = `${count}-${round}`;
    await put(name, lines);
    // Wakes the object of the tables, so that both sides find it awake.
    await timed(() => query(name, "SELECT 1 AS n"));
    samples.first.push(await timed(() => query(name, STATEMENT.replace("TABLE", "rows"))));
    const real = () => post(`/real/${name}`, STATEMENT.replace("TABLE", "real"));
    const made = await timed(() => fetch(`${base}/real/${name}`, { method: "PUT", body: lines }));
    samples.realFirst.push(made + (await timed(real)));
    await timed(() => query(name, STATEMENT.replace("TABLE", "rows")));
    for (let again = 0; again < 5; again++) {
      samples.again.push(await timed(() => query(name, STATEMENT.replace("TABLE", "rows"))));
      samples.real.push(await timed(real));
    }
  }
  const [first, realFirst, again, real] = Object.values(samples).map(median) as [
    number,
    number,
    number,
    number,
  ];
  console.log(
    `${count} records: ${first.toFixed(1)} ms, again ${again.toFixed(1)} ms; real ${realFirst.toFixed(1)} ms, again ${real.toFixed(1)} ms`,
  );
  const shown = count.toLocaleString("en-US");
  return [
    plainRow({
      name: `query of ${shown} records, first: against a real table`,
      value: first / realFirst,
      unit: "times",
    }),
    plainRow(
      {
        name: `query of ${shown} records, again: against a real table`,
        value: again / real,
        unit: "times",
      },
      goal,
    ),
  ];
}

report({ rows: [...(await compared(5_000, 2)), ...(await compared(200_000, 8))] });
server.stop();
