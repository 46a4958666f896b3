import { ByrefError, codeIn, codeOf, publicTextOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import {
  conversations,
  identityHeader,
  logFailure,
  placeIn,
  type TenantContext,
  type TenantFeature,
} from "../../../../src/internal-edge.ts";
import { json } from "../../../../src/internal.ts";
import type { Plan } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { Identity } from "../../../../src/runtime.ts";
import { requireInput, withDefaults } from "../plan/plan-input.ts";
import type { CheckedProgram, ProgramOutcome, ProgramStart, WrittenProgram } from "./program.ts";
import { type Program, type ProgramRun, ProgramStore } from "./program-store.ts";

/** What a program is made from: a value or an answer of a conversation. */
export interface ProgramSource {
  readonly conversation: string;
  readonly from: string;
}

interface NewProgramRun {
  readonly input?: Json | undefined;
  /** Default: the newest. */
  readonly version?: number | undefined;
  readonly cause: string;
  readonly isTrusted: boolean;
  readonly asker: Identity;
}

/** A run, and what its conversation says of it, if it is there. */
export interface AskedRun {
  readonly run: ProgramRun;
  readonly outcome?: ProgramOutcome | undefined;
}

/**
 * A tenant's programs. Each run has a conversation of its own, whose id is the run's: to ask for a run that has begun
 * starts nothing.
 */
export class Programs implements TenantFeature {
  readonly store: ProgramStore;
  readonly #context: TenantContext;

  constructor(context: TenantContext) {
    this.#context = context;
    this.store = new ProgramStore(context.sql);
  }

  get dueMs(): number {
    return this.store.dueMs;
  }

  /** Checks and keeps a program. Throws `invalid_plan` with all findings; then nothing is stored. */
  async put(
    name: string,
    {
      source,
      agent,
      asker,
    }: { source: WrittenProgram | ProgramSource; agent?: string; asker: Identity },
  ): Promise<Program> {
    let written = source as WrittenProgram;
    if ("from" in source) {
      const { from, conversation } = source;
      const about = { proposal: { from, name, isAlone: true }, agent };
      const at = conversations.requireId(conversation);
      written = await this.#ask<WrittenProgram>([at, "source"], about, asker);
    }
    const about = { proposal: { ...written, format: written.format }, agent };
    const checked = await this.#ask<CheckedProgram>(["", "check"], about, asker);
    return this.store.put(name, written, checked);
  }

  /** Starts a run, and waits until it ends or waits for a person. Throws `not_found` and `invalid_plan`. */
  start(name: string, start: NewProgramRun): Promise<AskedRun> {
    const run = this.add(name, start);
    void this.#context.setAlarm();
    return this.#advance(run, start.asker);
  }

  /** Adds a run, which the alarm starts if nothing else does. */
  add(name: string, { input = {}, version, cause, isTrusted, asker }: NewProgramRun): ProgramRun {
    const program = this.store.required(name, version);
    const whole = inputFor(program, input);
    const id = `r${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
    const run: ProgramRun = {
      id,
      program: name,
      version: program.version,
      cause,
      conversation: `${name}.${id}`,
      status: "running",
      isTrusted,
      hasBegun: false,
      tries: 0,
      createdMs: Date.now(),
    };
    this.store.addRun(run, { input: whole, asker });
    return run;
  }

  /** Newest first. Asks for those that are open. */
  async runsOf(name: string): Promise<readonly ProgramRun[]> {
    this.store.required(name);
    const runs = this.store.runsOf(name);
    return Promise.all(runs.map(async (run) => (isOpen(run) ? (await this.#look(run)).run : run)));
  }

  async runOf(name: string, id: string): Promise<AskedRun> {
    return this.#look(this.store.run(name, id));
  }

  /** Asks for runs whose end nobody has reported. Does not throw. */
  async onAlarm(): Promise<void> {
    const due = this.store.isUsed ? this.store.dueRuns(Date.now(), limits.maxPlanRuns) : [];
    await Promise.all(
      due.map(async (run) => {
        // Before the request, so that a run whose object breaks does not come again at once.
        this.store.saveTry(run, Date.now());
        await this.#advance(run, this.store.askerOf(run.id)).catch(() => undefined);
      }),
    );
  }

  /** Asks for a run without starting it. */
  async #look(run: ProgramRun): Promise<AskedRun> {
    try {
      return await this.#advance({ ...run, hasBegun: true }, this.store.askerOf(run.id));
    } catch {
      return { run: this.store.run(run.program, run.id) };
    }
  }

  /** Starts the run if it has not begun, and records how it ends. Throws if it was refused. */
  async #advance(run: ProgramRun, asker: Identity): Promise<AskedRun> {
    const { id, program: name, version, isTrusted, conversation, hasBegun } = run;
    const isEnded = !isOpen(run);
    try {
      const program = hasBegun ? undefined : this.#written(name, version);
      const input = hasBegun ? {} : (this.store.inputOf(id) ?? {});
      const start: ProgramStart = { run: id, name, program, input, isTrusted, conversation };
      const outcome = await this.#ask<ProgramOutcome>([conversation, "run"], start, asker);
      if (!isEnded) this.store.saveEnd(run, endOf(outcome), Date.now());
      return { run: isEnded ? run : this.store.run(name, id), outcome };
    } catch (error) {
      const isGone = codeOf(error) === "not_found" && run.hasBegun;
      if (!isEnded && error instanceof Refusal && (!hasBegun || isGone)) {
        const gone = "outcome_unknown: The conversation of this run is gone.";
        const text = isGone ? gone : publicTextOf(error);
        this.store.saveEnd(run, { status: "failed", error: text }, Date.now());
      } else if (!(error instanceof Refusal)) logFailure(error, placeIn(this.#context, "program"));
      throw error;
    }
  }

  #written(name: string, version: number): WrittenProgram {
    const { agent, format, tainted, findings } = this.store.required(name, version);
    // The check has made them.
    const notes = findings as WrittenProgram["notes"] & object;
    const text = this.store.textOf(name, version);
    return { agent, format, text, notes, ...(tainted && { tainted }) };
  }

  /** Asks a conversation's object. Throws what it refuses as a `Refusal`. */
  async #ask<Answer>(
    [conversation, what]: readonly [string, string],
    body: object,
    asker: Identity,
  ): Promise<Answer> {
    const { env, state } = this.#context;
    const { tenant } = asker;
    const parts = conversation === "" ? [tenant, ...conversations.UNUSED] : [tenant, conversation];
    const { jurisdiction } = state.id;
    const object = conversations.conversationNamed(env, parts, json.compact({ jurisdiction }));
    const at = `https://object/conversations/${conversation || "unused"}/programs/${what}`;
    const headers = new Headers([["content-type", "application/json"], identityHeader(asker)]);
    const response = await object.fetch(at, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    // A conversation's object answers in JSON.
    const answer = json.parsedJson(await response.text()) as object;
    if (response.ok) return answer as Answer;
    const { type: _1, title: _2, status: _3, instance: _4, ...problem } = answer as Problem;
    const { code, detail, ...details } = problem;
    throw new Refusal(codeIn(String(code)), String(detail), details);
  }
}

type Problem = Readonly<Record<string, Json>>;

/** What a conversation has refused, which another try would not change. */
class Refusal extends ByrefError {}

function isOpen({ status }: Pick<ProgramRun, "status">): boolean {
  return status === "running" || status === "waiting";
}

/** The input with the defaults of the program's schema. Throws `invalid_plan`. */
function inputFor({ input: schema }: Program, input: Json): Json {
  // The check has read it as JSON Schema.
  const plan = json.compact({ input: schema }) as Pick<Plan, "input"> as Plan;
  const whole = withDefaults(plan, input);
  requireInput(plan, whole);
  return whole;
}

/** The end of a run, with the reason of the call that failed first. */
function endOf({ run: { status, error, calls } }: ProgramOutcome) {
  const failed = calls.find((call) => call.status === "failed");
  const reason = failed && `${failed._id}: ${failed.reason ?? ""}`;
  return { status, ...json.compact({ error: error ?? reason }) };
}
