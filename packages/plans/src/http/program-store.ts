import { ByrefError, limitExceeded, requireAtMost } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { exactNumbers, json, sqlRows } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import type { Identity } from "../../../../src/runtime.ts";
import { isOpenRun, type RunStatus } from "../plan/plan-record.ts";
import type { CheckedProgram, ProgramFormat, Schedule, WrittenProgram } from "./program-schemas.ts";

export interface Program extends CheckedProgram {
  readonly name: string;
  readonly version: number;
  /** The same for all versions, and another for a later program of the name. Absent in programs of 0.2. */
  readonly series?: string;
  readonly format: ProgramFormat;
  readonly tainted?: true;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A run of a program, as its tenant remembers it. */
export interface ProgramRun {
  readonly id: string;
  readonly program: string;
  readonly version: number;
  /** What started it: `request`, `schedule:<id>`, `webhook:<id>`, `agent:<name>`. */
  readonly cause: string;
  readonly conversation: string;
  readonly status: RunStatus;
  /** False for an input of a stranger. */
  readonly isTrusted: boolean;
  /** True when its conversation is known to have it. */
  readonly hasBegun: boolean;
  readonly tries: number;
  readonly createdMs: number;
  readonly endedMs?: number;
  readonly error?: string;
  /** Who has started it. */
  readonly asker: Identity;
}

/** What is stored of a run that has begun, or was refused. */
interface RunEnd extends Pick<ProgramRun, "id" | "hasBegun" | "status"> {
  readonly error?: string | undefined;
}

/** What starts runs of a program: a schedule, a webhook, or an agent, by its name. */
export interface Trigger {
  readonly program: string;
  readonly kind: "schedule" | "webhook" | "agent";
  readonly name: string;
  /** Who has made it. Its runs are theirs. */
  readonly asker: Identity;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly schedule?: Schedule;
  /** When a schedule is due, in milliseconds since 1970. */
  readonly dueMs?: number | undefined;
  /** A webhook's address, and what its requests are signed with. */
  readonly hook?: string;
  readonly secret?: string;
  /** What an agent's model is told of the program. */
  readonly description?: string | undefined;
}

/** A tenant's programs, their runs and what starts them. The first program creates the tables. */
export class ProgramStore {
  readonly #sql: sqlRows.Sql;

  constructor(sql: sqlRows.Sql) {
    this.#sql = sql;
    // A program of an earlier version may have no table of triggers.
    if (this.#isUsed) this.#createTables();
  }

  #createTables(): void {
    for (const table of TABLES) this.#sql.run(table);
  }

  get #isUsed(): boolean {
    return sqlRows.hasTable(this.#sql, "program");
  }

  /** The rows of a statement; none before the first program. */
  #rows(statement: string, ...bindings: readonly sqlRows.SqlValue[]): readonly sqlRows.SqlRow[] {
    return this.#isUsed ? this.#sql.all(statement, ...bindings) : [];
  }

  list(): readonly Program[] {
    const newest = `SELECT data, max(version) FROM program GROUP BY name ORDER BY name`;
    return this.#rows(newest).map(programIn);
  }

  /** Default: the newest version. */
  get(name: string, version?: number): Program | undefined {
    const select = `SELECT data FROM program WHERE name = ? AND version = coalesce(?, version)
                    ORDER BY version DESC LIMIT 1`;
    return this.#rows(select, name, version ?? null).map(programIn)[0];
  }

  /** Throws `not_found`. */
  required(name: string, version?: number): Program {
    const program = this.get(name, version);
    if (program !== undefined) return program;
    const which = version === undefined ? "" : `version ${version} of `;
    throw new ByrefError("not_found", `There is no ${which}program ${name.slice(0, 80)}.`);
  }

  textOf(name: string, version: number): string {
    const select = `SELECT text FROM program WHERE name = ? AND version = ?`;
    return sqlRows.textIn(sqlRows.firstRow(this.#sql, select, name, version) ?? {}, "text");
  }

  /** The versions that are kept, oldest first. */
  versionsOf(name: string): readonly number[] {
    const select = `SELECT version FROM program WHERE name = ? ORDER BY version`;
    return this.#rows(select, name).map((row) => sqlRows.numberIn(row, "version"));
  }

  /** Adds a version, unless it equals the newest; stores nothing if `keeps` is false. Throws `limit_exceeded`. */
  put(name: string, written: WrittenProgram, checked: CheckedProgram, keeps: boolean): Program {
    const { format, text, tainted, notes = [] } = written;
    const now = this.get(name);
    const isSame = now !== undefined && this.textOf(name, now.version) === text;
    if (isSame && now.agent === checked.agent) return now;
    const about = { format, ...checked, findings: notes, ...(tainted === true && { tainted }) };
    const version = (now?.version ?? 0) + 1;
    const series = now === undefined ? crypto.randomUUID() : now.series;
    const createdAt = new Date().toISOString();
    const program = { name, version, createdAt, series, ...about } as Program;
    if (!keeps) return program;
    this.#sql.transaction(() => {
      this.#createTables();
      const maximum = limits.maxPlanItems;
      if (now === undefined && this.#count(`program WHERE 1 GROUP BY name`) >= maximum) {
        const advice = "Delete programs that are no longer needed.";
        throw limitExceeded("maxPlanItems", { maximum, actual: maximum + 1, advice });
      }
      const data = JSON.stringify(program);
      this.#sql.run(`INSERT INTO program VALUES (?, ?, ?, ?)`, name, version, data, text);
      const oldest = version - limits.maxPlanRuns;
      this.#sql.run(`DELETE FROM program WHERE name = ? AND version <= ?`, name, oldest);
    });
    return program;
  }

  /** Deletes all versions and runs of a program, and what starts it. Throws `not_found`. */
  delete(name: string): void {
    this.required(name);
    this.deleteAll(name);
  }

  /** Default: of all programs. */
  deleteAll(name: string | null = null): void {
    this.#sql.transaction(() => {
      this.#rows(`DELETE FROM program WHERE name = coalesce(?, name)`, name);
      this.#rows(`DELETE FROM program_run WHERE program = coalesce(?, program)`, name);
      this.#rows(`DELETE FROM program_trigger WHERE program = coalesce(?, program)`, name);
    });
  }

  /** Throws `limit_exceeded` if the program has the maximum of open runs. */
  requireRoom(program: string): void {
    const open = this.#count(`program_run WHERE program = ? AND ended IS NULL`, program);
    const advice = "Wait until runs have ended, or decide their pending approvals.";
    requireAtMost("maxPlanRuns", open + 1, advice);
  }

  /** Adds a run, which is asked for at `dueMs`. At the limit, deletes the program's oldest runs that have ended. */
  addRun(run: ProgramRun, input: Json, dueMs = run.createdMs + CHECK_AFTER_MS): void {
    this.#sql.run(
      `DELETE FROM program_run WHERE program = ?1 AND ended IS NOT NULL AND seq <= (
         SELECT seq FROM program_run WHERE program = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)`,
      run.program,
      limits.maxPlanRuns - 1,
    );
    const { id, program, version, cause, conversation, isTrusted, createdMs, asker } = run;
    const values = [id, program, version, cause, conversation, isTrusted ? 1 : 0, createdMs];
    this.#sql.run(
      `INSERT INTO program_run (id, program, version, cause, conversation, trusted, created, due, input, asker)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...values,
      dueMs,
      JSON.stringify(input),
      JSON.stringify(asker),
    );
  }

  /** Stores the outcome. A run that waits for a person is not asked for again by itself. */
  saveEnd({ id, hasBegun, status, error }: RunEnd, nowMs = Date.now()): void {
    this.#sql.run(
      `UPDATE program_run SET begun = ?, status = ?, error = ?, ended = iif(?, NULL, coalesce(ended, ?)), due = ?
       WHERE id = ?`,
      hasBegun ? 1 : 0,
      status,
      error ?? null,
      isOpenRun({ status }) ? 1 : 0,
      nowMs,
      status === "running" ? nowMs + CHECK_AFTER_MS : null,
      id,
    );
  }

  saveTry({ id, tries }: ProgramRun, nowMs: number): void {
    const due = nowMs + Math.min(CHECK_AFTER_MS * 2 ** tries, limits.idleMs);
    this.#sql.run(`UPDATE program_run SET tries = ?, due = ? WHERE id = ?`, tries + 1, due, id);
  }

  /** Newest first. */
  runsOf(program: string): readonly ProgramRun[] {
    const select = `SELECT ${RUN} FROM program_run WHERE program = ? ORDER BY seq DESC`;
    return this.#rows(select, program).map(runIn);
  }

  /** Throws `not_found`. */
  run(program: string, id: string): ProgramRun {
    const select = `SELECT ${RUN} FROM program_run WHERE program = ? AND id = ?`;
    const [row] = this.#rows(select, program, id);
    if (row !== undefined) return runIn(row);
    throw new ByrefError("not_found", `There is no run ${id.slice(0, 80)} of this program.`);
  }

  hasRun(id: string): boolean {
    return this.#count(`program_run WHERE id = ?`, id) > 0;
  }

  /** Runs that are to be asked for, oldest first. */
  dueRuns(nowMs: number, count: number): readonly ProgramRun[] {
    const select = `SELECT ${RUN} FROM program_run WHERE due <= ? ORDER BY due LIMIT ?`;
    return this.#rows(select, nowMs, count).map(runIn);
  }

  /** When the next run or schedule is due, in milliseconds since 1970. */
  get dueMs(): number {
    const next = ["program_run", "program_trigger"].flatMap((table) =>
      this.#rows(`SELECT due FROM ${table} WHERE due IS NOT NULL ORDER BY due LIMIT 1`),
    );
    return Math.min(Infinity, ...next.map((row) => sqlRows.numberIn(row, "due")));
  }

  /** `maxChars`: undefined for a longer input. */
  inputOf(id: string, maxChars: number = Infinity): Json | undefined {
    const row = sqlRows.firstRow(this.#sql, `SELECT input FROM program_run WHERE id = ?`, id);
    const text = sqlRows.textIn(row ?? {}, "input");
    return text.length > maxChars ? undefined : json.parsedJson(text);
  }

  /** Triggers of a program, by name. */
  triggers(program: string, kind: Trigger["kind"]): readonly Trigger[] {
    return this.#triggers(`program = ? AND kind = ? ORDER BY name`, program, kind);
  }

  /** What lets an agent run programs, by program. */
  offeredTo(agent: string): readonly Trigger[] {
    return this.#triggers(`kind = 'agent' AND name = ? ORDER BY program`, agent);
  }

  /** Schedules that are due, longest first. */
  dueTriggers(nowMs: number): readonly Trigger[] {
    return this.#triggers(`due <= ? ORDER BY due LIMIT ?`, nowMs, limits.maxPlanRuns);
  }

  withHook(hook: string): Trigger | undefined {
    return this.#triggers(`hook = ?`, hook)[0];
  }

  /** Adds or replaces a trigger of a program that is there. Throws `limit_exceeded`. */
  putTrigger({ dueMs, ...about }: Omit<Trigger, "createdAt">): Trigger {
    const trigger = { ...about, createdAt: new Date().toISOString() };
    const { program, kind, name, hook } = trigger;
    const counted = `program_trigger WHERE program = ? AND NOT (kind = ? AND name = ?)`;
    const advice = "Delete schedules, webhooks and agents that are no longer needed.";
    const others = this.#count(counted, program, kind, name);
    requireAtMost("maxPlanRuns", others + 1, advice);
    this.#sql.run(
      `REPLACE INTO program_trigger (program, kind, name, data, due, hook) VALUES (?, ?, ?, ?, ?, ?)`,
      program,
      kind,
      name,
      JSON.stringify(trigger),
      dueMs ?? null,
      hook ?? null,
    );
    return { ...trigger, dueMs };
  }

  /** Sets when a schedule is due next. Returns false if it has changed meanwhile. */
  postpone({ program, name, dueMs }: Trigger, nextMs: number | undefined): boolean {
    const update = `UPDATE program_trigger SET due = ? WHERE program = ? AND name = ? AND due = ? RETURNING name`;
    return this.#sql.all(update, nextMs ?? null, program, name, dueMs ?? null).length > 0;
  }

  /** Throws `not_found`. */
  deleteTrigger(program: string, kind: Trigger["kind"], name: string): void {
    const deleted = `DELETE FROM program_trigger WHERE program = ? AND kind = ? AND name = ? RETURNING 1`;
    if (this.#rows(deleted, program, kind, name).length > 0) return;
    throw new ByrefError("not_found", `There is no ${kind} ${name.slice(0, 80)} of this program.`);
  }

  #triggers(where: string, ...bindings: readonly (string | number)[]): readonly Trigger[] {
    return this.#rows(`SELECT data, due FROM program_trigger WHERE ${where}`, ...bindings).map(
      (row) => {
        // `putTrigger` wrote it.
        const trigger = exactNumbers.parseExactly(
          sqlRows.textIn(row, "data"),
        ) as unknown as Trigger;
        const { due } = row;
        return { ...trigger, ...(typeof due === "number" && { dueMs: due }) };
      },
    );
  }

  #count(rows: string, ...bindings: readonly string[]): number {
    const counted = `SELECT count(*) AS n FROM (SELECT 1 FROM ${rows})`;
    return sqlRows.numberIn(sqlRows.firstRow(this.#sql, counted, ...bindings) ?? {}, "n");
  }
}

/** An open run is asked for again after this time, if the request that started it has not reported its end. */
const CHECK_AFTER_MS = 60_000;

const RUN =
  "id, program, version, cause, conversation, status, trusted, begun, tries, created, ended, error, asker";

const TABLES = [
  `CREATE TABLE IF NOT EXISTS program (
     name TEXT, version INTEGER, data TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, version)
   ) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS program_run (
     seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, program TEXT NOT NULL, version INTEGER NOT NULL,
     cause TEXT NOT NULL, conversation TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'running',
     trusted INTEGER NOT NULL, begun INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
     created INTEGER NOT NULL, ended INTEGER, error TEXT, due INTEGER, input TEXT NOT NULL, asker TEXT NOT NULL)`,
  `CREATE INDEX IF NOT EXISTS program_run_of ON program_run (program, seq)`,
  `CREATE INDEX IF NOT EXISTS program_run_due ON program_run (due) WHERE due IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS program_trigger (
     program TEXT, kind TEXT, name TEXT, data TEXT NOT NULL, due INTEGER, hook TEXT UNIQUE,
     PRIMARY KEY (program, kind, name)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS program_trigger_due ON program_trigger (due) WHERE due IS NOT NULL`,
];

function programIn(row: sqlRows.SqlRow): Program {
  // `put` wrote it.
  return exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as Program;
}

function runIn(row: sqlRows.SqlRow): ProgramRun {
  const { ended } = row;
  return {
    id: sqlRows.textIn(row, "id"),
    program: sqlRows.textIn(row, "program"),
    version: sqlRows.numberIn(row, "version"),
    cause: sqlRows.textIn(row, "cause"),
    conversation: sqlRows.textIn(row, "conversation"),
    status: sqlRows.textIn(row, "status") as RunStatus,
    isTrusted: row["trusted"] === 1,
    hasBegun: row["begun"] === 1,
    tries: sqlRows.numberIn(row, "tries"),
    createdMs: sqlRows.numberIn(row, "created"),
    // `addRun` wrote it.
    asker: JSON.parse(sqlRows.textIn(row, "asker")) as Identity,
    ...(typeof ended === "number" && { endedMs: ended }),
    ...json.compact({ error: sqlRows.optionalTextIn(row, "error") }),
  };
}
