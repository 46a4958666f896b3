import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { freePort } from "../../scripts/local-worker.ts";
import { createClient } from "../../packages/client/src/client.ts";
import * as limits from "../../src/limits.ts";
import { databasesIn, reading, rowsOf } from "../chaos/disk.ts";
import { type PlainServer, startPlain, stop } from "../support/plain-server.ts";
import { temporaryFolder } from "../support/server.ts";

const ID = "moved";
const COUNT = 8;
const stateDir = temporaryFolder();
const objects = join(stateDir, "objects/byref-Conversation");

let env: Record<string, string>;
let server: PlainServer;
let file: Buffer<ArrayBuffer>;
/** Time from the last byte of the file to the answer, in milliseconds. */
let importMs = 0;

beforeAll(async () => {
  env = { PORT: String(await freePort()), STATE_DIR: stateDir, AUTH: "none" };
  await start();
  const conversation = createClient(url()).conversation(ID);
  await conversation.send("Weather in NYC?").text();
  for (let index = 0; index < COUNT; index++) {
    await conversation.variables.put(`v${index}`, `${index}`.repeat(2_000_000));
  }
  const exported = await fetch(`${url()}/conversations/${ID}/export`);
  file = Buffer.from(await exported.arrayBuffer());
  await remove();
  await sendFile(1);
  const startMs = performance.now();
  expect(await sendFile(1)).toMatchObject({ status: 201 });
  importMs = performance.now() - startMs;
  await remove();
});

afterAll(async () => {
  if (server !== undefined) await stop(server);
  rmSync(stateDir, { recursive: true, force: true });
});

const url = () => `http://localhost:${env.PORT}`;

async function start(): Promise<void> {
  server = startPlain(env);
  if ((await server.url) === undefined) throw new Error(server.output());
}

/** Kills workerd itself, like a crash or the kernel. */
async function killHard(): Promise<void> {
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(server.child.pid)]);
  for (const pid of children.toString().trim().split(/\s+/)) process.kill(Number(pid), "SIGKILL");
  await server.exited;
}

/** Deletes the imported conversation, and every other one. */
async function remove(): Promise<void> {
  const listed = await fetch(`${url()}/conversations`);
  const { conversations } = (await listed.json()) as { conversations: { id: string }[] };
  for (const id of new Set([ID, ...conversations.map((one) => one.id)])) {
    await (await fetch(`${url()}/conversations/${id}`, { method: "DELETE" })).text();
  }
}

/** Sends this share of the file. Returns the answer, or status 0 if there was none. */
function sendFile(share: number, onSent: () => void = () => undefined) {
  return new Promise<{ readonly status: number; readonly text: string }>((done) => {
    const broken = () => done({ status: 0, text: "" });
    const headers = { "content-length": file.length };
    const sending = request(`${url()}/conversations/import`, { method: "POST", headers });
    sending.on("response", (response) => {
      let text = "";
      response.on("data", (bytes) => (text += String(bytes)));
      response.on("end", () => done({ status: response.statusCode ?? 0, text }));
      response.on("error", broken);
    });
    sending.on("error", broken);
    sending.write(file.subarray(0, Math.floor(file.length * share)), onSent);
    if (share === 1) sending.end();
  });
}

async function isWhole(): Promise<boolean> {
  const conversation = createClient(url()).conversation(ID);
  const { messages } = await conversation.messages();
  const values = [];
  for (let index = 0; index < COUNT; index++) {
    const response = await fetch(`${url()}/conversations/${ID}/variables/v${index}`);
    const text = await response.text();
    values.push(response.status === 200 && text === `${index}`.repeat(2_000_000));
  }
  return messages.length === 2 && values.every(Boolean);
}

/** Returns true if no route shows anything of the conversation. */
async function isFree(): Promise<boolean> {
  const paths = ["/messages", "/variables", "/events", "/plans"];
  const lists = paths.map(async (path) =>
    (await fetch(`${url()}/conversations/${ID}${path}`)).text(),
  );
  return (await Promise.all(lists)).every((text) => /^\{"\w+":\[\]\}$/.test(text));
}

const moments: readonly (readonly [what: string, share: number, wait: number])[] = [
  ["with half of it sent", 0.5, 0],
  ["with nearly all of it sent", 0.99, 0],
  ["when all of it is sent", 1, 0],
  ["a while later", 1, 0.25],
  ["while it is brought in", 1, 0.5],
  ["near the end", 1, 0.75],
  ["at the end", 1, 0.95],
];

it.each(moments)(
  "an import killed %s leaves its conversation either free or complete",
  async (_, share, wait) => {
    const sent = Promise.withResolvers<void>();
    const answer = sendFile(share, sent.resolve);
    await sent.promise;
    await new Promise((done) => setTimeout(done, wait * importMs));
    await killHard();
    const { status } = await answer;
    await start();
    const { status: about } = await fetch(`${url()}/conversations/${ID}`);
    expect([200, 404]).toContain(about);
    // A confirmed import exists.
    if (status === 201) expect(about).toBe(200);
    expect(await (about === 200 ? isWhole() : isFree())).toBe(true);
    if (about === 404) {
      expect(await sendFile(1)).toEqual({ status: 201, text: JSON.stringify({ id: ID }) });
      expect(await isWhole()).toBe(true);
    }
    await remove();
  },
);

it("remnants of an abandoned import are deleted after a while", async () => {
  const begun = await fetch(`${url()}/conversations/import?part=1&of=2`, {
    method: "POST",
    body: file.subarray(0, 1_000_000),
  });
  expect(begun.status).toBe(202);
  await killHard();
  expect(left().length).toBeGreaterThan(0);
  age(limits.idleMs + 1_000);
  await start();
  await vi.waitFor(() => expect(left()).toEqual([]), { interval: 500 });
});

/** Objects that contain data. Reads a copy, which may have been made during a write of the running server. */
function left(): readonly string[] {
  const copy = temporaryFolder();
  try {
    cpSync(objects, copy, { recursive: true });
    return databasesIn(copy).filter((id) =>
      reading(join(copy, `${id}.sqlite`), (database) => {
        const tables = ["meta", "variable", "chunk", "message", "event"];
        return tables.some((table) => rowsOf(database, table, `SELECT 1 FROM ${table}`).length > 0);
      }),
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Makes stored data older, as if this time had passed while no server ran. */
function age(milliseconds: number): void {
  const nanoseconds = `${milliseconds}000000`;
  for (const name of readdirSync(objects).filter((name) => name.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(objects, name));
    const shift = (table: string, column: string, by = String(milliseconds)) => {
      if (rowsOf(database, table, `SELECT 1 FROM ${table}`).length === 0) return;
      const where = table === "meta" ? "WHERE key = 'created'" : "";
      database.exec(`UPDATE ${table} SET ${column} = ${column} - ${by} ${where}`);
    };
    shift("variable", "accessed_at");
    shift("event", "at");
    shift("meta", "value");
    // Both places in which workerd stores the time of an alarm.
    shift("_cf_METADATA", "value", nanoseconds);
    shift("_cf_ALARM", "scheduled_time", nanoseconds);
    database.close();
  }
}
