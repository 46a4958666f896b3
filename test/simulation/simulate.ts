/**
 * # Crash simulation
 *
 * A planned conversation is played twice with the same seed: undisturbed, and with an object that dies
 * wherever it waits for something, loses what nobody was promised, and is made anew over the same database
 * and bucket; in some, somebody stops the turn as well. It is the real `turn`, `tool` and `store` over real
 * SQLite; model, tools, bucket, digests, timers and time are the world's, so that a seed always does the same.
 *
 * | file | what |
 * |---|---|
 * | `plan.ts` | what model, tools and person are going to do, made from a seed |
 * | `actors.ts` | the model, which goes by the prompt alone, and the tools, which note that they ran |
 * | `world.ts`, `clock.ts`, `database.ts` | what outlives the object; commits that can be lost |
 * | `object.ts` | what `edge` does with the layers below |
 * | `client.ts` | somebody who watches and comes back |
 * | `checks.ts`, `committed.ts`, `compare.ts` | what must hold at a crash, at a turn's end, and after all |
 * | `seeds.ts`, `exhaustive.ts`, `storm.ts` | when crashes and stops come: by chance, everywhere, always |
 *
 * What breaks says its seed: `simulateSeed(seed)` plays it again. And it says what did not hold: R1, who was
 * answered has asked; R2, no frame's id names two frames, and what stock clients make of them is the message;
 * R3, a result that is written down is not produced again; R4, a `once` tool runs once, what became of the
 * others is known; R5, a key stands for one call; R7, every turn ends; R8, stopped is stopped, and what is said
 * of a call is true; R9, a turn ends once, and its answer is kept. Variables, bodies and memory have names.
 *
 * After a crash another outcome is allowed in three cases. Of a `once` call that was cut off it is not known.
 * What somebody stopped is what it was until then; a stop that a crash overtakes is forgotten, and the turn
 * goes on. And of the calls of one step each sees the variables as they were before the step, but one that
 * runs again sees what the others have written or deleted by then: a `none` call works with that, an
 * `idempotent` one is not repeated, since its key stands for the input that it had. Messages are compared up
 * to such a step (`isRaced`, where it can happen), the promises hold behind it as well.
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

/** When crashes come. */
export interface Disturbance {
  /** Asked wherever the object waits for something; `steps`: how often it was asked in this object's life. */
  crashes(steps: number): boolean;
  /** Whether a crash loses what nobody was promised. */
  loses(): boolean;
  /** No crash comes in a try after which the turn would be given up. */
  readonly sparesLastTry?: true;
  /** Whether somebody stops the turn, asked at the same places while it runs. */
  stops?(): boolean;
}

export const UNDISTURBED: Disturbance = { crashes: () => false, loses: () => false };

/** More sittings than any plan needs. */
const MAX_SITTINGS = 30;
/** Turns of the loop that wait for nothing, before time itself goes on. */
const PATIENCE = 20;

/** Plays the plan, and keeps watch over what was promised. Throws `Broken`. */
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
  /** Tries in a row that have died without progress. */
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
    // The runtime's own tools are there when there are variables.
    await this.#object.store.save({ name: NAMES[0], value: ["the first"] });
    this.#world.database.crash(this.#random, false);
    for (const turn of this.#plan.turns.keys()) {
      await this.#serve({ kind: "ask", turn });
      for (let sittings = 0; ; sittings++) {
        const approvals = this.#decisions(turn);
        if (approvals.length === 0) break;
        must(sittings < MAX_SITTINGS, "R7: the turn waits without end");
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

  /** What the person says to the calls that wait, or to the first of them. */
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

  /** From a person's request to the end of what comes of it, whatever happens in between. */
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

  /** Is it all in the database? */
  #isServed(request: Request): boolean {
    const { history } = this.#object;
    if (request.kind === "ask") return history.has(`question-${request.turn}`);
    const waiting = waitingCalls(history.newest());
    return request.approvals.every(({ approvalId }) => !waiting.has(approvalId));
  }

  /** Lets the object work until it is done with everything (true), or crashes. */
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
    // A commit that is lost in the last try would make it one without progress.
    const { sparesLastTry = false } = this.#disturbance;
    const keepsAll = sparesLastTry && this.#deaths >= limits.maxTurnDeaths - 1;
    database.crash(this.#random, this.#disturbance.loses() && !keepsAll);
    this.#object = new SimulatedObject(this.#world, this.#plan);
    this.#deaths = this.#object.deathsIfItDies;
  }
}

/** A turn that is being played. */
interface Playing {
  result?: TurnResult;
  error?: unknown;
}

function watched(turn: Promise<TurnResult>): Playing {
  const playing: Playing = {};
  turn.then(
    (result) => {
      playing.result = result;
    },
    (error: unknown) => {
      playing.error = error;
    },
  );
  return playing;
}

/** Everything that needs to wait for nothing outside is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
