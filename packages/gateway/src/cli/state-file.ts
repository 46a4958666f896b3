import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { NodeSql } from "../../../adapters/src/agent/node-sql.ts";
import { json } from "../../../../src/internal.ts";
import { GatewayState } from "../gateway-state.ts";
import { openShared } from "./shared-store.ts";

/**
 * The state of a workspace's gateways in a file of SQLite, which several processes may use at once. Needs
 * `node:sqlite`. A damaged file is kept as `FILE.damaged`, and the workspace then counts as tainted.
 */
export class StateFile extends GatewayState {
  readonly #sql: NodeSql;

  /** Throws if the file can be neither read nor made. */
  constructor(folder: string, log: (line: string) => void) {
    const file = join(folder, "gateway.sqlite");
    const sql = opened(file, log);
    const createMeta = () =>
      sql.run("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)");
    super(sql, { owner: { id: OWN, isAlive }, log, onTaint: createMeta });
    this.#sql = sql;
    // Earlier versions have a file in place of a row.
    const marks = [`${file}.damaged`, join(folder, "tainted")];
    if (marks.some((mark) => existsSync(mark))) this.taint.add();
  }

  close(): void {
    this.endCalls();
    this.#sql.close();
  }
}

function opened(file: string, log: (line: string) => void): NodeSql {
  // Other processes write, too: a transaction begins with the lock.
  const open = () => new NodeSql(openShared(file), { onBegin: () => undefined });
  try {
    return open();
  } catch (error) {
    if (!isDamage(error)) throw error;
    renameSync(file, `${file}.damaged`);
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    log(`The statistics are damaged and start again from zero; the old file is ${file}.damaged.`);
    return open();
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
function isDamage(error: unknown): boolean {
  return json.isObject(error) && (error.errcode === 11 || error.errcode === 26);
}

/** The process of a number when it started, because numbers are used again. */
function identityOf(pid: number): string {
  return `${pid} ${startOf(pid)}`;
}

const OWN = identityOf(process.pid);

/** True for a process that runs, or that cannot be distinguished from one that runs. */
function isAlive(identity: string): boolean {
  const pid = Number.parseInt(identity, 10);
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return identity === (pid === process.pid ? OWN : identityOf(pid));
}

/** The start time of the process, if the system provides it in a file. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ");
    return fields?.[START_FIELD] ?? "";
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : "";
  }
}

/** Counted from the field after the program's name. */
const START_FIELD = 19;
