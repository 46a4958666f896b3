/**
 * # Crash simulation
 *
 * Plays a planned conversation twice with the same seed: once undisturbed, and once with an object that
 * crashes where it waits for something, loses commits that were not confirmed, and is recreated on the same
 * database and bucket. In some runs, a user also stops the turn. The real `turn`, `tool` and `store` run on
 * real SQLite. The world provides model, tools, bucket, digests, timers and time, so that a seed always
 * plays the same.
 *
 * | file | what |
 * |---|---|
 * | `plan.ts` | what the model, the tools and the user will do, generated from a seed |
 * | `actors.ts` | the model, which goes by the prompt alone, and the tools, which record that they ran |
 * | `world.ts`, `database.ts` | what outlives the object; commits that can be lost |
 * | `object.ts` | uses the layers below as `edge` does |
 * | `client.ts` | a client that watches and reconnects |
 * | `checks.ts`, `committed.ts` | what must hold at a crash, after a turn, and at the end |
 * | `seeds.ts`, `exhaustive.ts`, `simulation.test.ts` | when crashes and stops happen: at random, everywhere, always |
 *
 * A failure names its seed, and `simulateSeed(seed)` plays it again. It also names the broken promise:
 *
 * - R1: if an answer was seen, its question is kept.
 * - R2: no frame id names two frames, and stock clients build the message from the frames.
 * - R3: a tool does not run again once its result is stored.
 * - R4: a `once` tool runs once, and the outcome of every other tool is known.
 * - R5: an idempotency key stands for one call.
 * - R7: every turn ends.
 * - R8: a stopped turn stays stopped, and what is reported about a call is true.
 * - R9: a turn ends once, and its answer is kept.
 *
 * Variables, bodies and memory are named as such.
 *
 * After a crash, the outcome may differ in three cases:
 *
 * - The outcome of a `once` call that was cut off is unknown.
 * - A stopped turn keeps what it had until then. If a crash overtakes the stop, it is forgotten and the turn
 *   continues.
 * - The calls of a step see the variables as they were before the step, but a call that runs again sees what
 *   the others have written or deleted by then. A `none` call works with that. An `idempotent` call is not
 *   repeated, since its key stands for its original input.
 *
 * Messages are compared up to such a step (`isRaced`, where the third case is possible). The promises hold
 * after it too.
 */

import * as limits from "../../src/limits.ts";
import type { TurnResult } from "../../src/turn/turn.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import { type ApprovalResponse, waitingCalls } from "../../src/turn/waiting-calls.ts";
import { Random } from "../chaos/random.ts";
import { checkEnd, checkMemory, type Outcome, outcomeOf } from "./checks.ts";
import { Broken, Client, must } from "./client.ts";
import { callsIn } from "./committed.ts";
import { answerId, type Request, SimulatedObject } from "./object.ts";
import { NAMES, type Plan } from "./plan.ts";
import { World } from "./world.ts";

/** When the object crashes, and when a user stops the turn. */
export interface Disturbance {
  /**
   * True to crash. Called wherever the object waits; `steps` counts the earlier calls in this object's life.
   */
  crashes(steps: number): boolean;
  /** True if a crash loses the commits that were not confirmed. */
  loses(): boolean;
  /** Set to avoid crashes that would make the runtime give up the turn. */
  readonly sparesLastTry?: true;
  /** True to stop the turn. Called again and again while it runs. */
  stops?(): boolean;
}

const UNDISTURBED: Disturbance = { crashes: () => false, loses: () => false };

/** More approval requests than any plan has. */
const MAX_WAITS = 30;
/** Iterations in which nothing is waited for, before the clock skips to the next timer. */
const PATIENCE = 20;

/** Plays the plan and checks the promises throughout. Throws `Broken`. */
export async function simulate(
  plan: Plan,
  seed: number,
  disturbance: Disturbance = UNDISTURBED,
): Promise<Outcome> {
  const simulation = new Simulation(plan, new Random(seed), disturbance);
  try {
    return await simulation.run();
  } catch (error) {
    if (error instanceof Broken) throw error;
    throw new Broken(`It threw: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    simulation.end();
  }
}

class Simulation {
  readonly #plan: Plan;
  readonly #world: World;
  readonly #random: Random;
  readonly #disturbance: Disturbance;
  readonly #uninstall: () => void;
  #object: SimulatedObject;
  readonly #client = new Client();
  #crashes = 0;
  #waits = 0;
  /** Consecutive tries that died without progress. */
  #deaths = 0;
  #steps = 0;
  readonly #delays: number[] = [];

  constructor(plan: Plan, random: Random, disturbance: Disturbance) {
    this.#plan = plan;
    this.#random = random;
    this.#disturbance = disturbance;
    this.#world = new World(random.fork());
    this.#uninstall = this.#world.install();
    this.#object = new SimulatedObject(this.#world, plan);
  }

  end(): void {
    this.#uninstall();
    this.#world.crash();
    this.#object.die();
    this.#world.database.close();
  }

  async run(): Promise<Outcome> {
    // The runtime offers its own tools only if there are variables.
    await this.#object.store.save({ name: NAMES[0], value: ["the first"] });
    this.#world.database.crash(this.#random, false);
    for (const turn of this.#plan.turns.keys()) {
      await this.#serve({ kind: "ask", turn });
      for (let waits = 0; ; waits++) {
        const approvals = this.#decisions(turn);
        if (approvals.length === 0) break;
        must(waits < MAX_WAITS, "R7: the turn waits without end");
        await this.#serve({ kind: "decide", turn, approvals });
      }
    }
    this.#uninstall();
    return outcomeOf(this.#world, this.#plan, {
      crashes: this.#crashes,
      waits: this.#waits,
      delays: this.#delays,
    });
  }

  /** Returns the user's decisions on the calls that wait, or on the first of them. */
  #decisions(turn: number): readonly ApprovalResponse[] {
    const { steps, decidesOneByOne } = this.#plan.turns[turn] ?? { steps: [] };
    const allowed = new Map(
      steps.flatMap(({ calls }) => calls.map(({ id, isAllowed }) => [id, isAllowed] as const)),
    );
    const newest = this.#object.history.newest();
    if (newest?.id !== answerId(turn)) return [];
    const decisions = Array.from(callsIn(newest)).flatMap(([id, { state, approval }]) =>
      state === "approval-requested"
        ? [{ approvalId: approval.id, approved: allowed.get(id) === true }]
        : [],
    );
    return decidesOneByOne === true ? decisions.slice(0, 1) : decisions;
  }

  /** Plays a request to its end, through all crashes. */
  async #serve(request: Request): Promise<void> {
    const before = this.#object.history.newest();
    let playing = this.#play(request);
    for (;;) {
      const isDone = await this.#drive(playing);
      if (isDone) break;
      await this.#crash();
      if (this.#object.journal.head()?.isOpen === true) {
        playing = this.#recover();
      } else if (this.#isServed(request)) {
        this.#object.log = TurnLog.ended(this.#object.journal);
        this.#client.comeBack(this.#object.log);
        this.#client.read();
        break;
      } else {
        must(!this.#client.hasSeen, "R1: an answer was seen, and the question is gone");
        playing = this.#play(request);
      }
    }
    await checkEnd({
      object: this.#object,
      client: this.#client,
      world: this.#world,
      request,
      before,
      crashes: this.#crashes,
    });
  }

  #play(request: Request): Playing {
    const playing = watched(this.#object.play(request));
    this.#client.ask(this.#object.log);
    return playing;
  }

  #recover(): Playing {
    const playing = watched(this.#object.recover());
    this.#client.comeBack(this.#object.log);
    return playing;
  }

  /** True if the request is stored in the database. */
  #isServed(request: Request): boolean {
    const { history } = this.#object;
    if (request.kind === "ask") return history.has(`question-${request.turn}`);
    const waiting = waitingCalls(history.newest());
    return request.approvals.every(({ approvalId }) => !waiting.has(approvalId));
  }

  /** Lets the object work until everything is done (true) or it crashes (false). */
  async #drive(playing: Playing): Promise<boolean> {
    const world = this.#world;
    for (let patience = PATIENCE; ;) {
      await settled();
      world.database.commit();
      this.#client.read();
      world.throwIfBroken();
      if (playing.error !== undefined) throw playing.error;
      if (playing.result === undefined && this.#disturbance.stops?.() === true) this.#object.stop();
      if (playing.result !== undefined && !world.isWaitedFor) {
        return !this.#disturbance.crashes(this.#steps++);
      }
      if (world.isWaitedFor) {
        patience = PATIENCE;
        this.#waits++;
        if (this.#disturbance.crashes(this.#steps++) && !this.#isSpared) return false;
        world.release();
      } else if (patience-- <= 0) {
        must(world.clock.skip(), "R7: the turn hangs");
        patience = PATIENCE;
      }
    }
  }

  get #isSpared(): boolean {
    const { sparesLastTry = false } = this.#disturbance;
    return sparesLastTry && this.#object.deathsIfItDies >= limits.maxTurnDeaths;
  }

  async #crash(): Promise<void> {
    const { database } = this.#world;
    checkMemory(this.#object, database.sql);
    this.#crashes++;
    this.#steps = 0;
    this.#delays.push(...this.#object.delays);
    this.#object.die();
    this.#world.crash();
    // Losing a commit in the last try would make it a try without progress.
    const { sparesLastTry = false } = this.#disturbance;
    const keepsAll = sparesLastTry && this.#deaths >= limits.maxTurnDeaths - 1;
    database.crash(this.#random, this.#disturbance.loses() && !keepsAll);
    this.#object = new SimulatedObject(this.#world, this.#plan);
    this.#deaths = this.#object.deathsIfItDies;
  }
}

/** A turn in progress. */
type Playing = { result?: TurnResult; error?: unknown };

function watched(turn: Promise<TurnResult>): Playing {
  const playing: Playing = {};
  turn.then(
    (result) => void (playing.result = result),
    (error: unknown) => void (playing.error = error),
  );
  return playing;
}

/** Resolves when everything that waits for nothing outside is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
