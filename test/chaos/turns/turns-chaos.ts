import type { UIMessage } from "ai";
import { Random } from "../random.ts";
import { postDifferent, postIdentical } from "./bursts.ts";
import { Client } from "./client.ts";
import { jumpInTime } from "./clock.ts";
import { openOn, readTurns } from "./disk.ts";
import { Findings } from "./findings.ts";
import { FrameBook } from "./frames.ts";
import { Killer } from "./killer.ts";
import { tellEntry } from "./ledger.ts";
import { Resumption } from "./resumption.ts";
import { faultsFrom, type Script, scriptFrom, SHAPES, TOOLS } from "./script.ts";
import { Server } from "./server.ts";
import { Talk } from "./talk.ts";
import { newTurn, noteIn, type Turn } from "./turn.ts";
import { World } from "./world.ts";
import { plainParts } from "./checks.ts";

export interface TurnsChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** A fresh folder. */
  readonly stateDir: string;
  /** The run ends after a round that left so much that is wrong. */
  readonly wrongEnough?: number;
  readonly onProgress?: (findings: Findings) => void;
}

/** How often the server is killed in one round, one kill soon after the other. */
const ROUNDS = { single: 1, double: 2, three: 3, five: 5, storm: 20 } as const;
type Round = keyof typeof ROUNDS;

const TURNS_OF_A_TALK = 4;
const WRONG_ENOUGH = 10;
const SETTLED_WITHIN_MS = 30_000;
const STORM_SETTLED_WITHIN_MS = 120_000;

/** Kills a server in the middle of turns, and compares what comes of them with what was promised. */
export async function runTurnsChaos(options: TurnsChaosOptions): Promise<Findings> {
  const world = new World();
  const url = await world.start();
  const server = new Server(options.stateDir, url);
  const chaos = new TurnsChaos(options, world, server);
  try {
    return await chaos.run();
  } finally {
    await server.kill();
    world.stop();
  }
}

class TurnsChaos {
  readonly #options: TurnsChaosOptions;
  readonly #world: World;
  readonly #server: Server;
  readonly #random: Random;
  readonly #findings: Findings;
  readonly #killer: Killer;
  readonly #book = new FrameBook();
  readonly #references = new Map<string, readonly string[]>();
  #talks: Talk[] = [];
  #made = 0;

  constructor(options: TurnsChaosOptions, world: World, server: Server) {
    this.#options = options;
    this.#world = world;
    this.#server = server;
    this.#random = new Random(options.seed);
    this.#findings = new Findings(options.seed);
    this.#killer = new Killer(world, server, this.#findings);
  }

  async run(): Promise<Findings> {
    const findings = this.#findings;
    const { wrongEnough = WRONG_ENOUGH } = this.#options;
    await this.#server.start();
    this.#server.openGate();
    await this.#rehearse();
    while (findings.kills < this.#options.kills && findings.wrong.length < wrongEnough) {
      await this.#round(this.#chooseRound());
      if (this.#random.chance(0.06)) await this.#burst();
      this.#options.onProgress?.(findings);
    }
    if (findings.counted("bursts of identical posts") === 0) await this.#burst();
    await this.#jump();
    return findings;
  }

  /** A storm only where it is a small part of all. */
  #chooseRound(): Round {
    const { kills } = this.#options;
    const hasStormed = this.#findings.counted("storms") > 0;
    const kind =
      kills >= 5 * ROUNDS.storm && !hasStormed && this.#findings.kills > kills / 2
        ? "storm"
        : this.#random.weighted<Round>({
            single: 8,
            double: 3,
            three: 2,
            five: 1,
            storm: kills >= 5 * ROUNDS.storm ? 0.1 : 0,
          });
    if (kind === "storm") this.#findings.count("storms");
    return kind;
  }

  async #burst(): Promise<void> {
    const isKilled = this.#random.chance(0.6);
    for (const post of [postIdentical, postDifferent]) {
      await post({
        world: this.#world,
        server: this.#server,
        killer: this.#killer,
        findings: this.#findings,
        references: this.#references,
        random: this.#random.fork(),
        isKilled,
        name: `burst${++this.#made}`,
      });
    }
  }

  /** The machine's clock an hour ahead, and then three hours back. */
  async #jump(): Promise<void> {
    const script = () => this.#begin(this.#newTalk(), { shape: "plain", faults: new Map() }).script;
    await jumpInTime(this.#server, {
      scripts: [script(), script(), script()],
      onKill: () => {
        this.#findings.kills++;
      },
      onWrong: (what) => this.#findings.blame("R21", what),
    });
  }

  /** Each shape once, undisturbed. */
  async #rehearse(): Promise<void> {
    const url = await this.#server.gate.url();
    for (const shape of Object.keys(SHAPES)) {
      const talk = this.#newTalk();
      const turn = this.#begin(talk, { shape, faults: new Map(), toolMs: 0, deltaMs: 1 });
      await this.#clientOf(turn, "rehearsal").ask();
      const response = await fetch(`${url}/conversations/${talk.id}/messages`);
      const { messages } = (await response.json()) as { messages: readonly UIMessage[] };
      const parts = plainParts(messages.at(-1)?.parts ?? [], turn.script);
      this.#references.set(shape, parts);
      if (!isWhole(parts, turn.script)) this.#findings.blame("R9", `${shape}: ${parts.join(", ")}`);
      await talk.check(url);
    }
  }

  async #round(kind: Round): Promise<void> {
    const turns = this.#chooseTalks().map((talk) => this.#begin(talk));
    const working = turns.flatMap((turn) => this.#clientsOf(turn));
    const over = Promise.all(working);
    const kills = ROUNDS[kind];
    for (let kill = 1; kill <= kills; kill++) {
      await (kill === 1
        ? this.#killer.atSomeMoment(this.#random, over)
        : this.#killer.soon(this.#random));
      for (const turn of turns) {
        turn.kills++;
        noteIn(turn, `kill ${kill} of ${kills}`);
      }
      await this.#restart(turns, kill === kills);
    }
    await this.#settle(turns, over, kind);
    for (const { outcome, script } of turns) {
      this.#findings.count(outcome);
      const what = script.faults.size > 0 ? "faulty" : kind;
      if (outcome !== "none" && outcome !== "stopped") this.#findings.count(`${what} ${outcome}`);
    }
  }

  #chooseTalks(): readonly Talk[] {
    this.#talks = this.#talks.filter(
      ({ turns }) => turns.length < TURNS_OF_A_TALK && this.#random.chance(0.7),
    );
    while (this.#talks.length < 4) this.#talks.push(this.#newTalk());
    return this.#talks.slice(0, this.#random.between(2, 4));
  }

  #newTalk(): Talk {
    const options = {
      ledger: this.#world.ledger,
      findings: this.#findings,
      references: this.#references,
    };
    return new Talk(`talk-${++this.#made}`, options);
  }

  #begin(talk: Talk, fixed: Partial<Script> = {}): Turn {
    const marker = `t${String(++this.#findings.turns).padStart(5, "0")}x`;
    const random = this.#random.fork();
    const plain = scriptFrom(random, marker, fixed);
    const isFaulty = fixed.faults === undefined && random.chance(0.08);
    const faults = faultsFrom(random, plain.shape, random.chance(0.2));
    const script = isFaulty ? { ...plain, faults } : plain;
    this.#world.play(script);
    const turn = newTurn(talk.id, script);
    noteIn(turn, `${script.shape} in ${talk.id}`);
    talk.turns.push(turn);
    return turn;
  }

  #clientOf(turn: Turn, name: string): Client {
    return new Client({
      gate: this.#server.gate,
      turn,
      random: this.#random.fork(),
      book: this.#book,
      onWrong: (row, what) => this.#findings.blame(row, what),
      name,
    });
  }

  #clientsOf(turn: Turn): Promise<void>[] {
    const watchers = Array.from({ length: this.#random.between(0, 2) }, (_, index) =>
      this.#clientOf(turn, `watcher ${index + 1}`).watch(),
    );
    if (this.#random.chance(0.05)) watchers.push(this.#stop(turn, this.#random.between(30, 500)));
    return [this.#clientOf(turn, "asker").ask(), ...watchers];
  }

  async #stop(turn: Turn, afterMs: number): Promise<void> {
    await new Promise((done) => setTimeout(done, afterMs));
    const url = `${await this.#server.gate.url()}/conversations/${turn.conversation}/stop`;
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

  /** Nobody asks before the turns that were cut off have shown that they go on by themselves. */
  async #restart(turns: readonly Turn[], isLast: boolean): Promise<void> {
    const { stateDir } = this.#options;
    const objects = readTurns(stateDir);
    const kept = new Set(objects.flatMap(({ questions }) => [...questions]));
    for (const { script, isAcknowledged } of turns) {
      if (isAcknowledged && !kept.has(script.marker)) {
        this.#findings.blame("R1", `${script.marker} was accepted, and is not on the disk`);
      }
    }
    const open = new Set(openOn(objects));
    const running = new Map(turns.map((turn) => [turn.conversation, turn.script.marker]));
    for (const conversation of open) {
      if (!running.has(conversation)) this.#findings.blame("R7", `${conversation} is still open`);
    }
    const waiting = new Map([...running].filter(([conversation]) => open.has(conversation)));
    const kill = this.#findings.kills;
    const isCurrent = () => this.#findings.kills === kill;
    const resumption = new Resumption(stateDir, this.#world.ledger, { waiting, isCurrent });
    await this.#server.start();
    if (!isLast) return;
    const { firstMs, asleep } = await resumption.result();
    const { startedMs, listensMs } = this.#server.times;
    const isEarly = turns.every(({ kills }) => kills <= 3);
    for (const ms of firstMs) {
      if (!isEarly) continue;
      this.#findings.resumedMs.push(Math.max(ms - listensMs, 0));
      this.#findings.sinceStartMs.push(ms - startedMs);
    }
    for (const conversation of asleep) {
      if (isEarly)
        this.#findings.blame("R8", `${conversation} (${running.get(conversation)}) did not wake`);
    }
    this.#server.openGate();
  }

  async #settle(turns: readonly Turn[], over: Promise<unknown>, kind: Round): Promise<void> {
    const withinMs = kind === "storm" ? STORM_SETTLED_WITHIN_MS : SETTLED_WITHIN_MS;
    const giveUpMs = performance.now() + withinMs;
    const isOver = await Promise.race([
      over.then(() => true),
      new Promise<false>((done) => setTimeout(() => done(false), withinMs)),
    ]);
    if (!isOver) {
      const stuck = turns.filter((turn) => !turn.isOver).map(({ script }) => script.marker);
      this.#findings.blame("R7", `${stuck.join(", ")} not answered within ${withinMs} ms`);
      for (const turn of turns) turn.isOver = true;
    }
    const url = await this.#server.gate.url();
    for (const turn of turns) {
      const talk = this.#talks.find(({ id }) => id === turn.conversation);
      const before = this.#findings.wrong.length;
      await this.#untilIdle(url, turn, Math.max(giveUpMs, performance.now() + 5_000));
      await talk?.check(url);
      if (this.#findings.wrong.length > before) this.#describe(turn);
    }
  }

  async #untilIdle(url: string, turn: Turn, giveUpMs: number): Promise<void> {
    for (;;) {
      const response = await fetch(`${url}/conversations/${turn.conversation}`);
      const { status } = (await response.json()) as { status?: string | number };
      // What was never accepted may have left no conversation.
      if (status === "idle" || response.status === 404) return;
      if (performance.now() > giveUpMs) {
        this.#findings.blame("R7", `${turn.script.marker} stays ${status}`);
        return;
      }
      await new Promise((done) => setTimeout(done, 30));
    }
  }

  #describe({ script, log }: Turn): void {
    const entries = this.#world.ledger.of(script.marker).map(tellEntry);
    const lines = [...log, ...entries].toSorted((one, other) => parseInt(one) - parseInt(other));
    this.#findings.stories.push(`${script.marker} (${script.shape})\n  ${lines.join("\n  ")}`);
  }
}

/** Of an undisturbed turn: each step has its text, and each call that was allowed its result. */
function isWhole(parts: readonly string[], { steps, approves }: Script): boolean {
  const calls = steps.flatMap((step) => step.calls);
  const texts = steps.filter(({ text }) => text !== "").length;
  const results = parts.filter((part) => part.includes('"state":"output-available"')).length;
  const denied = approves ? 0 : calls.filter((name) => TOOLS[name].needsApproval).length;
  const isExpanded = !parts.some((part) => part.startsWith('{"text"') && part.includes("$"));
  return (
    parts.length === steps.length + texts + calls.length &&
    results === calls.length - denied &&
    isExpanded
  );
}
