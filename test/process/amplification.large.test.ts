import { afterAll, beforeAll, expect, it } from "vitest";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";

let server: WorkerServer;
let variables: string;

const list = (count: number, write: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join(" ");

const sent = (path: string, method: string, body: unknown) =>
  fetch(`${variables}/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Texts that each cost as much as possible. */
const texts: readonly string[] = [
  list(999, (n) => `{{keys.no${n}}}`),
  list(999, (n) => `{{${"ab"[n % 2]}.no${n}}}`),
  list(100, (n) => `{{ones[${n}:]${"[0:]".repeat(100)}}}`),
  list(999, (n) => `{{ones[*]}}${n}`),
  list(999, (n) => `{{rows[${n}].no}}`),
];

beforeAll(async () => {
  server = await startWorkerServer({ AUTH: "none" });
  const conversation = `${server.url}/conversations/amplified`;
  variables = `${conversation}/variables`;
  const keys = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`key_${n}`, n]));
  const rows = Array.from({ length: 100_000 }, (_, id) => ({ id, s: "x".repeat(90) }));
  const ones = Array.from({ length: 5_000_000 }, () => 1);
  const large = { keys, rows, ones, a: { x: "a".repeat(15e6) }, b: { x: "b".repeat(15e6) } };
  for (const [name, value] of Object.entries(large)) {
    const response = await sent(name, "PUT", value);
    expect([name, response.status]).toEqual([name, 201]);
  }
});

afterAll(async () => {
  await server.stop();
});

it("no interpolated text ends the server", async () => {
  for (const text of texts) {
    const { status } = await sent("../interpolate", "POST", { text });
    expect([200, 422]).toContain(status);
  }
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});
