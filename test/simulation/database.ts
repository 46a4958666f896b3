import { migrate } from "../../src/store/rows/migrations.ts";
import { type Sql, type SqlRow, type SqlValue, textIn } from "../../src/store/rows/sql.ts";
import type { Random } from "../chaos/random.ts";
import { NodeSql } from "../support/node-sql.ts";
import { START_MS } from "../support/turn.ts";

interface Statement {
  readonly text: string;
  readonly bindings: readonly SqlValue[];
}

/**
 * A conversation's SQLite database, which outlives the object that writes to it. What the object writes
 * without waiting for anything outside is one commit. A crash may lose the newest commits unless the outside
 * was told that they are kept.
 */
export class Database {
  readonly #sql = spare.pop() ?? newSql();
  /** Everything written so far, in order. */
  #written: Statement[] = [];
  /** Where commits end, and up to where they can no longer be lost. */
  #commits: number[] = [];
  #confirmed = 0;

  /** For readers. They must not write. */
  get sql(): Sql {
    return this.#sql;
  }

  /** Number of statements written so far. */
  get position(): number {
    return this.#written.length;
  }

  /** Returns the database for one object, usable until `isDead`. */
  connect(isDead: () => boolean): Sql {
    const alive = () => {
      if (isDead()) throw new Error("SIMULATION: a dead object uses its database.");
      return this.#sql;
    };
    return {
      run: (text, ...bindings) => {
        alive().run(text, ...bindings);
        this.#written.push({ text, bindings });
      },
      all: (text, ...bindings): readonly SqlRow[] => alive().all(text, ...bindings),
      transaction: (work) => {
        const { length } = this.#written;
        try {
          return alive().transaction(work);
        } catch (error) {
          this.#written.length = length;
          throw error;
        }
      },
    };
  }

  /** Call when the object waits for something outside. What it wrote since the last call is one commit. */
  commit(): void {
    const { length } = this.#written;
    if (length > (this.#commits.at(-1) ?? 0)) this.#commits.push(length);
  }

  /** Marks what was written up to the position as kept. */
  confirm(position: number): void {
    this.#confirmed = Math.max(this.#confirmed, position);
  }

  /**
   * Call when the object has died. With `loses`, also loses one or more of the newest commits that were not
   * confirmed.
   */
  crash(random: Random, loses: boolean): void {
    const losable = this.#commits.filter((_, index) => this.#startOf(index) >= this.#confirmed);
    if (loses && losable.length > 0) this.#lose(random.between(1, losable.length));
    // What the next object finds can no longer be lost.
    this.#confirmed = this.position;
  }

  #startOf(index: number): number {
    return this.#commits[index - 1] ?? 0;
  }

  #lose(count: number): void {
    this.#commits = this.#commits.slice(0, -count);
    this.#written.length = this.#commits.at(-1) ?? 0;
    empty(this.#sql);
    for (const { text, bindings } of this.#written) this.#sql.run(text, ...bindings);
  }

  close(): void {
    empty(this.#sql);
    spare.push(this.#sql);
  }
}

/** Unused databases. Opening one and preparing its statements takes longer than a turn. */
const spare: NodeSql[] = [];

/** Opens a database in the initial state of every conversation, which cannot be lost. */
function newSql(): NodeSql {
  const sql = new NodeSql();
  migrate(sql, START_MS);
  return sql;
}

/** Restores the state that `migrate` left. */
function empty(sql: NodeSql): void {
  const tables = sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  for (const name of tables.map((row) => textIn(row, "name"))) {
    const isMeta = name === "meta";
    if (MADE_LATER.has(name)) sql.run(`DROP TABLE ${name}`);
    else sql.run(`DELETE FROM ${name} ${isMeta ? "WHERE key NOT IN ('schema', 'created')" : ""}`);
  }
}

const MADE_LATER: ReadonlySet<string> = new Set(["chunk", "garbage", "tombstone"]);
