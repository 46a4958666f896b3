import { Cron } from "croner";
import type * as z from "zod";
import {
  ByrefError,
  codeOf,
  messageOf,
  publicTextOf,
  requireAtMost,
} from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import {
  conversations,
  logFailure,
  placeIn,
  requestBodies,
  type TenantContext,
  type TenantFeature,
} from "../../../../src/internal-edge.ts";
import { encoding, json } from "../../../../src/internal.ts";
import type { Plan } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { Identity } from "../../../../src/runtime.ts";
import { askObject, Refusal } from "./object-request.ts";
import { requireInput, withDefaults } from "../plan/plan-input.ts";
import { isOpenRun } from "../plan/plan-record.ts";
import {
  requireSame,
  type programSource,
  type Schedule,
  type CheckedProgram,
  type ProgramOutcome,
  type ProgramStart,
  type WrittenProgram,
} from "./program-schemas.ts";
import { type Program, type ProgramRun, ProgramStore, type Trigger } from "./program-store.ts";
import {
  newHook,
  newSecret,
  notSigned,
  requireSignature,
  type SignedHeaders,
} from "./webhook-signature.ts";

interface NewProgram {
  readonly source: WrittenProgram | z.infer<typeof programSource>;
  readonly agent?: string;
  readonly asker: Identity;
  /** False if nothing is stored. */
  readonly keeps: boolean;
}

interface NewProgramRun {
  /** Default: a new id. */
  readonly id?: string | undefined;
  readonly input?: Json | undefined;
  /** Default: the newest. */
  readonly version?: number | undefined;
  readonly cause: string;
  readonly isTrusted: boolean;
  readonly asker: Identity;
  /** When the alarm starts it. Default: in a minute, unless the request that adds it does. */
  readonly dueMs?: number;
  /** True if nobody receives an error: then the history has a run that cannot start, as failed. */
  readonly isAlone?: true;
  /** A client's own identifier of the request. */
  readonly key?: string | undefined;
}

type TriggerPlace = Pick<Trigger, "program" | "name">;

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

  /** Checks a program, and keeps it. Throws `invalid_plan` with all findings; then nothing is stored. */
  async put(
    name: string,
    { source, agent, asker, keeps }: NewProgram,
  ): Promise<{ readonly program: Program; readonly text: string }> {
    let written = source as WrittenProgram;
    if ("from" in source) {
      const { from, conversation } = source;
      const about = { proposal: { from, name, isAlone: true }, agent };
      const at = conversations.requireId(conversation);
      written = await this.#ask<WrittenProgram>([at, "source"], about, asker);
    }
    const { agent: before, ...proposal } = written;
    const about = { proposal, agent: agent ?? before };
    const checked = await this.#ask<CheckedProgram>(["", "check"], about, asker);
    const program = this.store.put(name, written, checked, keeps);
    return { program, text: written.text };
  }

  deleteAll(): void {
    this.store.deleteAll();
  }

  /** Checks and keeps a schedule. Throws `bad_request`, and `invalid_plan` if the program could not run now. */
  async schedule(place: TriggerPlace, schedule: Schedule, asker: Identity): Promise<Trigger> {
    const { version } = this.store.required(place.program);
    const proposal = this.#written(place.program, version);
    await this.#ask(["", "check"], { proposal, agent: proposal.agent }, asker);
    // It may have been deleted meanwhile.
    inputFor(this.store.required(place.program), schedule.input ?? {});
    const dueMs = nextTime(schedule, Date.now());
    const never = "cron: There is no such day: the program would never run.";
    if (dueMs === undefined) throw new ByrefError("bad_request", never);
    const trigger = this.store.putTrigger({ ...place, kind: "schedule", asker, schedule, dueMs });
    await this.#context.setAlarm();
    return trigger;
  }

  /** Lets the model of an agent run the program. Throws `not_found`, and `bad_request` for one that runs none. */
  async offer(place: TriggerPlace, description: string | undefined, asker: Identity) {
    await this.#ask(["", "agent"], { agent: place.name }, asker);
    if (this.store.required(place.program).format === "message")
      throw new ByrefError("bad_request", "A program that asks an agent is not given to one.");
    return this.store.putTrigger({ ...place, kind: "agent", asker, description });
  }

  /** The programs that the model of an agent may run, with what it is told of them. */
  offeredTo(agent: string): readonly (Program & Pick<Trigger, "description">)[] {
    return this.store.offeredTo(agent).flatMap(({ program: name, description }) => {
      const program = this.store.get(name);
      if (program === undefined || program.format === "message") return [];
      return { ...program, ...json.compact({ description }) };
    });
  }

  /** Adds a webhook, or gives it a new secret. */
  webhook(place: TriggerPlace, asker: Identity): Trigger {
    this.store.required(place.program);
    const known = this.store.triggers(place.program, "webhook");
    const { hook = newHook(asker.tenant) } = known.find(({ name }) => name === place.name) ?? {};
    return this.store.putTrigger({ ...place, kind: "webhook", asker, hook, secret: newSecret() });
  }

  /** Adds the run of a signed request, once for each `webhook-id`. Returns its id. Throws `unauthorized`. */
  async receive(hook: string, headers: SignedHeaders, body: string): Promise<string> {
    requireAtMost("maxRecordBytes", encoding.byteLength(body), "Send long data another way.");
    const webhook = this.store.withHook(hook);
    const key = await requireSignature(webhook?.secret ?? newSecret(), headers, body);
    if (webhook === undefined) throw notSigned();
    const { program, asker } = webhook;
    const cause = `webhook:${webhook.name}`;
    const id = await runIdOf(this.store.required(program), cause, key);
    if (!this.store.hasRun(id)) {
      const input = requestBodies.parseJson(body);
      this.add(program, { id, cause, input, asker, isTrusted: false, dueMs: Date.now() });
    }
    await this.#context.setAlarm();
    return id;
  }

  /**
   * Starts a run, and waits until it ends or waits for a person; once for each `key`. Throws `not_found`,
   * `invalid_plan`, and `idempotency_mismatch` for a key that came with another input.
   */
  async start(name: string, { key, ...start }: NewProgramRun): Promise<AskedRun> {
    const program = this.store.required(name);
    const id = key === undefined ? undefined : await runIdOf(program, start.cause, key);
    const known = id !== undefined && this.store.hasRun(id) ? this.store.run(name, id) : undefined;
    if (known === undefined) {
      const run = this.add(name, { ...start, id });
      void this.#context.setAlarm();
      return this.#advance(run);
    }
    const { version = known.version, input = {} } = start;
    const whole = inputFor(this.store.required(name, known.version), input);
    const before = this.store.inputOf(known.id) ?? null;
    requireSame([whole, version], [before, known.version]);
    return known.hasBegun ? this.#look(known) : this.#advance(known);
  }

  /**
   * Runs what a failed run has not done, for the person who started it. Throws `conflict` for a run that has not
   * failed or whose results are gone, `outcome_unknown` if a call may have had its effect, and `invalid_plan`.
   */
  retry(name: string, id: string): Promise<AskedRun> {
    const run = this.store.run(name, id);
    if (run.status !== "failed") {
      const message = `Only a failed run can be retried; this one is ${run.status}.`;
      throw new ByrefError("conflict", message);
    }
    this.store.requireRoom(name);
    this.store.saveEnd({ ...run, status: "running", error: undefined });
    void this.#context.setAlarm();
    return this.#advance({ ...run, status: "running" }, run.hasBegun);
  }

  /** Adds a run, which the alarm starts if nothing else does. */
  add(name: string, { input = {}, version, isAlone, dueMs, ...start }: NewProgramRun): ProgramRun {
    const program = this.store.required(name, version);
    const random = `r${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
    const { id = random, cause, isTrusted, asker } = start;
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
      asker,
    };
    try {
      const whole = inputFor(program, input);
      this.store.requireRoom(name);
      this.store.addRun(run, whole, dueMs);
    } catch (error) {
      if (isAlone !== true) throw error;
      this.store.addRun(run, input);
      this.store.saveEnd({ ...run, status: "failed", error: publicTextOf(error) }, run.createdMs);
    }
    return run;
  }

  /** Newest first. Asks for those that are open. */
  async runsOf(name: string): Promise<readonly ProgramRun[]> {
    this.store.required(name);
    const runs = this.store.runsOf(name);
    return Promise.all(
      runs.map(async (run) => (isOpenRun(run) ? (await this.#look(run)).run : run)),
    );
  }

  async runOf(name: string, id: string): Promise<AskedRun> {
    return this.#look(this.store.run(name, id));
  }

  /** Adds the runs of schedules that are due, and asks for runs that are to begin or have not reported their end. */
  async onAlarm(): Promise<void> {
    const nowMs = Date.now();
    for (const trigger of this.store.dueTriggers(nowMs)) {
      await this.#fire(trigger, nowMs).catch((error: unknown) => {
        logFailure(error, placeIn(this.#context, "schedule"));
        this.store.postpone(trigger, nowMs + RETRY_MS);
      });
    }
    for (const run of this.store.dueRuns(nowMs, limits.maxPlanRuns)) {
      // Before the request, so that a run whose object breaks does not come again at once.
      this.store.saveTry(run, nowMs);
      // The alarm does not wait for it: a long run would delay the next one of all schedules.
      const running = this.#advance(run);
      this.#context.state.waitUntil(running.catch(() => undefined));
    }
  }

  /** Adds a run for each time at which a schedule was due, once, in the commit that sets when it is due next. */
  async #fire(trigger: Trigger, nowMs: number): Promise<void> {
    const { program, schedule, dueMs = nowMs, asker } = trigger;
    if (schedule === undefined) return;
    const cause = `schedule:${trigger.name}`;
    const times = timesBetween(schedule, dueMs, nowMs);
    const newest = this.store.required(program);
    const ids = await Promise.all(times.map((timeMs) => runIdOf(newest, cause, String(timeMs))));
    this.#context.sql.transaction(() => {
      if (!this.store.postpone(trigger, nextTime(schedule, nowMs))) return;
      const start = { cause, input: schedule.input, asker, dueMs: nowMs } as const;
      for (const id of ids.filter((one) => !this.store.hasRun(one))) {
        this.add(program, { ...start, id, isTrusted: true, isAlone: true });
      }
    });
  }

  /** Asks for a run without starting it. */
  async #look(run: ProgramRun): Promise<AskedRun> {
    // Until its conversation has answered the alarm, which starts it, that one may not know it yet.
    if (!run.hasBegun && run.cause !== "request") return { run };
    try {
      return await this.#advance({ ...run, hasBegun: true });
    } catch {
      return { run: this.store.run(run.program, run.id) };
    }
  }

  /** Starts or retries the run if it has not begun, and records how it ends. Throws if it was refused. */
  async #advance(run: ProgramRun, retries = false): Promise<AskedRun> {
    const { id, program: name, version, isTrusted, conversation, hasBegun, asker } = run;
    const isEnded = !isOpenRun(run);
    try {
      const written = hasBegun ? undefined : this.#written(name, version);
      // A model that has read a stranger's words chose to start it.
      const isChosen = run.cause.startsWith("agent:") && !isTrusted;
      const program = written && isChosen ? { ...written, tainted: true } : written;
      const input = hasBegun ? {} : (this.store.inputOf(id) ?? {});
      const about = { run: id, name, program, input, isTrusted, conversation };
      const start: ProgramStart = { ...about, retries };
      const outcome = await this.#ask<ProgramOutcome>([conversation, "run"], start, asker);
      if (!isEnded) this.store.saveEnd({ id, hasBegun: true, ...endOf(outcome) });
      return { run: isEnded ? run : this.store.run(name, id), outcome };
    } catch (error) {
      // Newer versions may have taken the place of the run's own.
      const isRefused = error instanceof Refusal || codeOf(error) === "not_found";
      const isGone = codeOf(error) === "not_found" && run.hasBegun;
      if (!isEnded && isRefused && (!hasBegun || isGone || retries)) {
        const gone = "outcome_unknown: The conversation of this run is gone.";
        const text = retries ? run.error : isGone ? gone : publicTextOf(error);
        // After an error of its own, the object may have begun it.
        const mayHaveBegun = hasBegun || codeOf(error) === "internal";
        this.store.saveEnd({ id, hasBegun: mayHaveBegun, status: "failed", error: text });
      } else if (!isRefused) logFailure(error, placeIn(this.#context, "program"));
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
    const path = `/conversations/${conversation || "unused"}/programs/${what}`;
    return (await askObject(object, path, { asker, body })) as Answer;
  }
}

/** The pause after which a schedule that could not add its runs is due again. */
const RETRY_MS = 60_000;

/**
 * One id for each firing: asked for again, it is the same run, in the same conversation. Runs of an earlier program of
 * the name have other ids.
 */
async function runIdOf({ name, series }: Program, cause: string, key: string): Promise<string> {
  const parts = [name, cause, key, ...(series === undefined ? [] : [series])];
  const text = new TextEncoder().encode(JSON.stringify(parts));
  const digest = await crypto.subtle.digest("SHA-256", text);
  return `r${encoding.toHex(new Uint8Array(digest).subarray(0, 8))}`;
}

/** The input with the defaults of the program's schema. Throws `invalid_plan`. */
function inputFor({ input: schema }: Program, input: Json): Json {
  // The check has read it as JSON Schema.
  const plan = json.compact({ input: schema }) as Pick<Plan, "input"> as Plan;
  const whole = withDefaults(plan, input);
  requireInput(plan, whole);
  return whole;
}

function endOf({ run: { status, error, calls } }: ProgramOutcome) {
  const failed = calls.find((call) => call.status === "failed");
  const reason = failed && `${failed._id}: ${failed.reason ?? ""}`;
  return { status, ...json.compact({ error: error ?? reason }) };
}

/** The first time after `nowMs`; undefined if there is none. Throws `bad_request`. */
function nextTime(schedule: Schedule, nowMs: number): number | undefined {
  return cronOf(schedule).nextRun(new Date(nowMs))?.getTime();
}

/** The times from `dueMs` to `nowMs` for which the program is to run, oldest first. */
function timesBetween(schedule: Schedule, dueMs: number, nowMs: number): readonly number[] {
  const { misfires } = schedule;
  const count = misfires === "all" ? limits.maxPlanRuns : 1;
  // A reference of a whole second would not include itself.
  const newest = cronOf(schedule).previousRuns(count, new Date(nowMs + 1));
  const later = newest.map((time) => time.getTime()).filter((timeMs) => timeMs > dueMs);
  const times = [dueMs, ...later.toReversed()].slice(-count);
  return misfires === "skip" ? times.filter((timeMs) => timeMs >= nowMs - LATE_MS) : times;
}

/** An alarm may be late by this much. */
const LATE_MS = 60_000;

function cronOf({ cron, timeZone }: Schedule): Cron {
  try {
    Intl.DateTimeFormat("en", { timeZone });
  } catch {
    const message = `timeZone: "${timeZone}" is no IANA time zone, such as Europe/Berlin.`;
    throw new ByrefError("bad_request", message);
  }
  try {
    // The library also reads single dates, and `?` as the time at which it reads.
    if (/[:?]/u.test(cron)) throw new Error("it contains : or ?");
    const options = { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true } as const;
    return new Cron(cron, { timezone: timeZone, ...options });
  } catch (error) {
    const advice = `write "minute hour day month weekday", with seconds before them if needed.`;
    const message = `cron: "${cron}" is no cron line (${messageOf(error)}): ${advice}`;
    throw new ByrefError("bad_request", message);
  }
}
