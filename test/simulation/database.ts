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
 * A conversation's SQLite, which survives the object that writes to it. What the object writes without
 * waiting for anything outside is one commit; a crash may lose the newest commits, as long as nobody has
 * been promised that they are kept.
 */
export class Database {
  readonly #sql = spare.pop() ?? newSql();
  /** Everything that was ever written, in order. */
  #written: Statement[] = [];
  /** Where commits end, and up to where they are kept whatever happens. */
  #commits: number[] = [];
  #confirmed = 0;

  /** For readers that must not write. */
  get sql(): Sql {
    return this.#sql;
  }

  /** How much was written until now. */
  get position(): number {
    return this.#written.length;
  }

  /** For one object's memory, until `isDead`. */
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

  /** Nothing in the object goes on by itself: what it wrote since the last time is one commit. */
  commit(): void {
    const { length } = this.#written;
    if (length > (this.#commits.at(-1) ?? 0)) this.#commits.push(length);
  }

  /** What was written up to there is kept. */
  confirm(position: number): void {
    this.#confirmed = Math.max(this.#confirmed, position);
  }

  /** The object has gone; with `loses`, the newest commits too, some or all of those not promised. */
  crash(random: Random, loses: boolean): void {
    const losable = this.#commits.filter((_, index) => this.#startOf(index) >= this.#confirmed);
    if (loses && losable.length > 0) this.#lose(random.between(1, losable.length));
    // What the next object finds is there to stay.
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

/** That nobody uses: to open one and to prepare its statements takes longer than a turn. */
const spare: NodeSql[] = [];

/** Each conversation's begins alike; nothing of that can be lost. */
function newSql(): NodeSql {
  const sql = new NodeSql();
  migrate(sql, START_MS);
  return sql;
}

/** As `migrate` left it. */
function empty(sql: NodeSql): void {
  const tables = sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  for (const name of tables.map((row) => textIn(row, "name"))) {
    const isMeta = name === "meta";
    if (MADE_LATER.has(name)) sql.run(`DROP TABLE ${name}`);
    else sql.run(`DELETE FROM ${name} ${isMeta ? "WHERE key NOT IN ('schema', 'created')" : ""}`);
  }
}

const MADE_LATER: ReadonlySet<string> = new Set(["chunk", "garbage", "tombstone"]);
