import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../random.ts";
import { type Ask, WRITERS } from "../writers.ts";
import { Client } from "./client.ts";
import { FrameBook } from "./frames.ts";
import type { Stage } from "./stage.ts";
import { faultsFrom, type Script, scriptFrom } from "./script.ts";
import { restart, settle } from "./settlement.ts";
import { Talk } from "./talk.ts";
import { newTurn, noteIn, type Turn } from "./turn.ts";

/** Number of kills per round, in quick succession. */
export const ROUNDS = { single: 1, double: 2, three: 3, five: 5, storm: 20 } as const;
export type Round = keyof typeof ROUNDS;

const TURNS_OF_A_TALK = 4;
const SETTLED_WITHIN_MS = 30_000;
const STORM_SETTLED_WITHIN_MS = 120_000;

/** Runs turns in several conversations at once, in rounds, and kills the server in each round. */
export class Rounds {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #book = new FrameBook();
  readonly #known = new Map<string, Talk>();
  /** Conversations that get more turns. */
  #talks: Talk[] = [];

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  async play(kind: Round): Promise<void> {
    const turns = this.#chooseTalks().map((talk) => this.begin(talk));
    const working = turns.flatMap((turn) => this.#clientsOf(turn));
    const over = Promise.all(working);
    const kills = ROUNDS[kind];
    for (let kill = 1; kill <= kills; kill++) {
      await (kill === 1
        ? this.#stage.killer.atSomeMoment(this.#random, over)
        : this.#stage.killer.soon(this.#random));
      for (const turn of turns) {
        turn.kills++;
        noteIn(turn, `kill ${kill} of ${kills}`);
      }
      await restart(this.#stage, turns, kill === kills);
    }
    await settle(this.#stage, turns, {
      over,
      withinMs: kind === "storm" ? STORM_SETTLED_WITHIN_MS : SETTLED_WITHIN_MS,
      talkOf: (turn) => this.#known.get(turn.conversation),
    });
    for (const { outcome, script, isAcknowledged } of turns) {
      // A turn that was never accepted needs no answer.
      const told = outcome === "none" && !isAcknowledged ? "not accepted" : outcome;
      this.#stage.findings.count(told);
      const what = script.faults.size > 0 ? "faulty" : kind;
      if (told !== "not accepted" && told !== "stopped") {
        this.#stage.findings.count(`${what} ${told}`);
      }
    }
  }

  /**
   * Checks that a stopped turn stays stopped, even if the server is killed right after it acknowledged the
   * stop.
   */
  async stopAndKill(): Promise<void> {
    // One call awaits approval while the other runs.
    const asking = this.#random.chance(0.4) ? { shape: "denied", toolMs: 300 } : {};
    const turn = this.begin(this.newTalk(), { faults: new Map(), ...asking });
    const over = this.clientOf(turn, "asker").ask();
    await this.#stop(turn);
    await this.#stage.killer.now(turn.stoppedMs === undefined ? "any" : "stopped");
    turn.kills++;
    noteIn(turn, "kill");
    await restart(this.#stage, [turn], true);
    await settle(this.#stage, [turn], {
      over,
      withinMs: SETTLED_WITHIN_MS,
      talkOf: (turn) => this.#known.get(turn.conversation),
    });
    this.#stage.findings.count("stops, then kills");
  }

  #chooseTalks(): readonly Talk[] {
    this.#talks = this.#talks.filter(
      ({ turns }) => turns.length < TURNS_OF_A_TALK && this.#random.chance(0.7),
    );
    while (this.#talks.length < 4) this.#talks.push(this.newTalk());
    return this.#talks.slice(0, this.#random.between(2, 4));
  }

  newTalk(): Talk {
    const { world, findings, references } = this.#stage;
    const options = { ledger: world.ledger, findings, references };
    const talk = new Talk(`talk-${this.#known.size + 1}`, options);
    this.#known.set(talk.id, talk);
    return talk;
  }

  begin(talk: Talk, fixed: Partial<Script> = {}): Turn {
    const marker = `t${String(++this.#stage.findings.turns).padStart(5, "0")}x`;
    const random = this.#random.fork();
    const plain = scriptFrom(random, marker, fixed);
    const isFaulty = fixed.faults === undefined && random.chance(0.08);
    const faults = faultsFrom(random, plain.shape, random.chance(0.2));
    const script = isFaulty ? { ...plain, faults } : plain;
    this.#stage.world.play(script);
    const turn = newTurn(talk.id, script);
    noteIn(turn, `${script.shape} in ${talk.id}`);
    talk.turns.push(turn);
    return turn;
  }

  clientOf(turn: Turn, name: string): Client {
    return new Client({
      gate: this.#stage.server.gate,
      turn,
      random: this.#random.fork(),
      book: this.#book,
      onWrong: (row, what) => this.#stage.findings.blame(row, what),
      name,
    });
  }

  #clientsOf(turn: Turn): Promise<void>[] {
    const watchers = Array.from({ length: this.#random.between(0, 2) }, (_, index) =>
      this.clientOf(turn, `watcher ${index + 1}`).watch(),
    );
    if (this.#random.chance(0.08)) watchers.push(this.#stop(turn));
    if (this.#random.chance(0.5)) watchers.push(this.#writeBeside(turn, this.#random.fork()));
    return [this.clientOf(turn, "asker").ask(), ...watchers];
  }

  /** Sends writes of a client while the turn runs. They must not delay its recovery. */
  async #writeBeside(turn: Turn, random: Random): Promise<void> {
    const { server, world, findings } = this.#stage;
    const ask: Ask = async (method, path, init) =>
      fetch(`${await server.gate.url()}${path}`, { ...init, method });
    while (!turn.isOver) {
      await sleep(random.between(1, 80));
      // A write before the turn is accepted would create the conversation.
      if (turn.isOver || !turn.isAcknowledged) continue;
      const name = random.one(Object.keys(WRITERS));
      try {
        await WRITERS[name]?.(ask, turn.conversation);
      } catch (error) {
        noteIn(turn, `${name}: ${String(error)}`);
        continue;
      }
      noteIn(turn, name);
      findings.count("writes beside turns");
      world.onMoment({ kind: "written", marker: turn.script.marker, step: 0, index: 0 });
    }
  }

  /** Stops the turn at a random time, often counted from one of its first events. */
  async #stop(turn: Turn): Promise<void> {
    if (this.#random.chance(0.6)) await this.#eventOf(turn, this.#random.between(1, 8));
    await sleep(this.#random.magnitude(1, 400));
    const url = `${await this.#stage.server.gate.url()}/conversations/${turn.conversation}/stop`;
    if (turn.isOver || !turn.isAcknowledged) return;
    turn.isStopAsked = true;
    try {
      const { stopped } = (await (await fetch(url, { method: "POST" })).json()) as {
        stopped: boolean;
      };
      noteIn(turn, `stopped: ${stopped}`);
      if (stopped) turn.stoppedMs = performance.now();
    } catch {
      noteIn(turn, "the stop is not answered");
    }
  }

  /** Waits for the `number`th entry of the turn in the ledger, or for its end. */
  async #eventOf(turn: Turn, number: number): Promise<void> {
    const { ledger } = this.#stage.world;
    while (ledger.of(turn.script.marker).length < number && !turn.isOver) {
      await sleep(2);
    }
  }
}
