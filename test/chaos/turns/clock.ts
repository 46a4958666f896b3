import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { UIMessage } from "ai";
import { databasesIn, OBJECTS, rowsOf } from "../disk.ts";
import { questionOf, type Script } from "./script.ts";
import type { Server } from "./server.ts";
import { markerOf } from "./talk.ts";

interface JumpOptions {
  /** One turn before the first jump, and one after each jump. */
  readonly scripts: readonly Script[];
  readonly onKill: () => void;
  readonly onWrong: (what: string) => void;
}

/** Number of jumps. Each one kills the server. */
export const JUMPS = 2;
const HOUR_MS = 3_600_000;
const TTL_MS = 600_000;

/**
 * Restarts the server with its clock one hour ahead, then with the clock set back three hours. Turns must
 * still run and values must still expire. The clock stays shifted, so nothing may follow in the run.
 */
export async function jumpInTime(server: Server, options: JumpOptions): Promise<void> {
  const { scripts, onKill, onWrong } = options;
  for (const [index, script] of scripts.entries()) {
    if (index > 0) {
      onKill();
      await server.kill();
      const jumpMs = index === 1 ? HOUR_MS : -3 * HOUR_MS;
      server.clockShiftMs += jumpMs;
      moveAlarms(server.stateDir, jumpMs);
      await server.start();
      server.openGate();
      // Lets everything run that is due now.
      await sleep(500);
    }
    const url = `${await server.gate.url()}/conversations/clock`;
    await checkValues(url, index, onWrong);
    await put(url, `value_${index}`);
    await ask(url, script);
  }
  const url = `${await server.gate.url()}/conversations/clock`;
  const { messages } = (await (await fetch(`${url}/messages`)).json()) as {
    messages: readonly UIMessage[];
  };
  const asked = messages.filter(({ role }) => role === "user").map(markerOf);
  const expected = scripts.map(({ marker }) => marker);
  if (asked.join() !== expected.join()) onWrong(`asked ${expected.join()}, kept ${asked.join()}`);
}

/**
 * Moves the stored alarms. A real jump would move the platform's clock too, but here only the Worker's clock
 * jumps.
 */
function moveAlarms(stateDir: string, jumpMs: number): void {
  const folder = join(stateDir, OBJECTS);
  const jumpNs = BigInt(jumpMs) * 1_000_000n;
  const move = (file: string, table: string, column: string) => {
    const database = new DatabaseSync(join(folder, `${file}.sqlite`));
    if (rowsOf(database, table, `SELECT 1 FROM ${table}`).length > 0) {
      database.prepare(`UPDATE ${table} SET ${column} = ${column} - ?`).run(jumpNs);
    }
    database.close();
  };
  move("metadata", "_cf_ALARM", "scheduled_time");
  // Each object also stores its own alarm, in the only row of this table.
  for (const id of databasesIn(folder)) move(id, "_cf_METADATA", "value");
}

/** Checks the values written before the last jump. */
async function checkValues(
  url: string,
  index: number,
  onWrong: (what: string) => void,
): Promise<void> {
  for (const earlier of Array.from({ length: index }, (_, one) => one)) {
    const name = `value_${earlier}`;
    const { status } = await fetch(`${url}/variables/${name}`);
    // The first value, with a TTL of ten minutes, has expired after an hour. The jump back can extend the
    // second by at most three hours.
    const isOver = earlier === 0;
    if (isOver && status !== 410)
      onWrong(`${name} is over after jump ${index}, and answers ${status}`);
    if (isOver) continue;
    const info = (await (await fetch(`${url}/variables/${name}/info`)).json()) as {
      expiresAt?: string;
    };
    const leftMs = Date.parse(info.expiresAt ?? "") - (Date.now() - 2 * HOUR_MS);
    if (!(leftMs <= TTL_MS + 3 * HOUR_MS)) onWrong(`${name} lasts ${leftMs} ms more`);
  }
}

async function put(url: string, name: string): Promise<void> {
  const response = await fetch(`${url}/variables/${name}?ttl=${TTL_MS / 1_000}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: "1",
  });
  if (!response.ok) throw new Error(`PUT ${name}: ${response.status}`);
}

async function ask(url: string, script: Script): Promise<void> {
  const response = await fetch(`${url}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ message: questionOf(script) }),
  });
  if (!response.ok) throw new Error(`A turn answers ${response.status}: ${await response.text()}`);
}
