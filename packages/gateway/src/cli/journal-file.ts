import { readFileSync } from "node:fs";
import { nodeSqlite } from "../../../adapters/src/agent/node-sql.ts";
import type { CallJournal } from "../call-journal.ts";
import * as limits from "../gateway-limits.ts";

/** Calls in a file of SQLite, which several processes may use at once. Needs `node:sqlite`. */
export class JournalFile implements CallJournal {
  readonly #database;
  readonly #ending = new Set<() => void>();

  constructor(file: string) {
    const { DatabaseSync } = nodeSqlite();
    this.#database = new DatabaseSync(file, { timeout: limits.sharedLockMs });
    this.#database.exec("PRAGMA journal_mode = WAL");
    // Nothing is lost when the process is killed.
    this.#database.exec("PRAGMA synchronous = NORMAL");
    this.#database.exec(
      "CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, call TEXT, at INTEGER, process TEXT)",
    );
    const oldMs = Date.now() - limits.journalMs;
    this.#database.prepare("DELETE FROM calls WHERE at < ?").run(oldMs);
  }

  begin(call: string): () => void {
    const adding = this.#database.prepare("INSERT INTO calls (call, at, process) VALUES (?, ?, ?)");
    const { lastInsertRowid: id } = adding.run(call, Date.now(), OWN);
    const end = () => {
      if (!this.#ending.delete(end)) return;
      try {
        this.#database.prepare("DELETE FROM calls WHERE id = ?").run(id);
      } catch {
        // The file is locked or the disk is full. After a restart, the call counts as cut off.
      }
    };
    return () => {
      // The client has its answer only when it was written out. Until then the call counts as cut off.
      this.#ending.add(end);
      setTimeout(end, limits.journalEndMs).unref();
    };
  }

  takeCutOff(call: string): number | undefined {
    const found = this.#database
      .prepare("SELECT id, at, process FROM calls WHERE call = ?")
      .all(call);
    const dead = found.filter(({ process: one }) => !isAlive(String(one)));
    const deleting = this.#database.prepare("DELETE FROM calls WHERE id = ?");
    // Another process may have taken it meanwhile.
    const taken = dead.filter(({ id = null }) => deleting.run(id).changes === 1);
    return taken.length === 0 ? undefined : Math.max(...taken.map(({ at }) => Number(at)));
  }

  /** Calls that have not ended count as cut off: their answers may not reach the client any more. */
  close(): void {
    for (const end of this.#ending) end();
    this.#database.close();
  }
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
