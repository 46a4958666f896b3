import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../random.ts";
import type { Findings } from "./findings.ts";
import type { Server } from "./server.ts";
import type { Moment, World } from "./world.ts";

const PATIENCE_MS = 800;

/** Kills the server at a given kind of moment in the world, or at a random time. */
export class Killer {
  readonly #world: World;
  readonly #server: Server;
  readonly #findings: Findings;

  constructor(world: World, server: Server, findings: Findings) {
    this.#world = world;
    this.#server = server;
    this.#findings = findings;
  }

  /**
   * Kills the server at a random moment of a model's answer, a tool's call or a client's write, or at a
   * random time; or once `over` resolves. Resolves when the server is dead.
   */
  async atSomeMoment(random: Random, over: Promise<unknown>): Promise<void> {
    const kind = random.weighted<Moment["kind"] | "any">({
      answered: 3,
      requested: 3,
      effected: 3,
      replied: 2,
      asked: 3,
      delta: 2,
      written: 3,
      any: 3,
    });
    const delayMs = random.chance(0.5) ? 0 : random.between(0, 25);
    if (kind === "any") return this.#kill("any", random.between(0, 400));
    const number = kind === "delta" ? random.between(1, 60) : random.between(1, 4);
    await this.#reached({ kind, number, delayMs, over });
  }

  /** Kills the server while it recovers. */
  async soon(random: Random): Promise<void> {
    if (random.chance(0.5)) return this.#kill("any", random.between(0, 350));
    const kind = random.weighted<Moment["kind"]>({
      asked: 2,
      requested: 2,
      answered: 2,
      delta: 1,
      written: 1,
    });
    const delayMs = random.chance(0.5) ? 0 : random.between(0, 25);
    await this.#reached({ kind, number: 1, delayMs, over: new Promise(() => undefined) });
  }

  now(what: string): Promise<void> {
    return this.#kill(what, 0);
  }

  /** Kills at the `number`th moment of this kind, when `over` resolves, or when patience runs out. */
  #reached({ kind, number, delayMs, over }: Aim): Promise<void> {
    let left = number;
    let isStruck = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const strike = (what: string, waitMs: number) => {
      if (isStruck) return;
      isStruck = true;
      clearTimeout(timer);
      this.#world.onMoment = () => undefined;
      resolve(this.#kill(what, waitMs));
    };
    const timer = setTimeout(() => strike("any", 0), PATIENCE_MS);
    void over.then(() => strike("over", delayMs));
    this.#world.onMoment = (moment) => {
      // A turn's first model call commits no result, so it does not count towards a later one.
      if (moment.kind !== kind || (kind === "asked" && moment.step === 0 && left > 1)) return;
      if (--left === 0) strike(kind, delayMs);
    };
    return promise;
  }

  /** With a `waitMs` of 0, sends the signal before it returns. */
  async #kill(what: string, waitMs: number): Promise<void> {
    if (waitMs > 0) await sleep(waitMs);
    this.#findings.kills++;
    const { moments } = this.#findings;
    moments.set(what, (moments.get(what) ?? 0) + 1);
    await this.#server.kill();
  }
}

interface Aim {
  readonly kind: Moment["kind"];
  readonly number: number;
  readonly delayMs: number;
  readonly over: Promise<unknown>;
}
