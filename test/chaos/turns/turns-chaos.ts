import type { UIMessage } from "ai";
import { Random } from "../random.ts";
import { Findings } from "./findings.ts";
import { Killer } from "./killer.ts";
import { type Round, ROUNDS, Rounds } from "./rounds.ts";
import { type Script, SHAPES, TOOLS } from "./script.ts";
import { Server } from "./server.ts";
import type { Stage } from "./stage.ts";
import { World } from "./world.ts";
import { plainParts } from "./checks.ts";

interface TurnsChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** A fresh folder. */
  readonly stateDir: string;
  /** Ends the run after a round that brings the number of failures to this. */
  readonly wrongEnough?: number;
  readonly onProgress?: (findings: Findings) => void;
}

const WRONG_ENOUGH = 10;

/** Kills a server in the middle of turns and compares their outcome with what was promised. */
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
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #rounds: Rounds;

  constructor(options: TurnsChaosOptions, world: World, server: Server) {
    this.#options = options;
    this.#random = new Random(options.seed);
    const findings = new Findings();
    const killer = new Killer(world, server, findings);
    this.#stage = { world, server, killer, findings, references: new Map() };
    this.#rounds = new Rounds(this.#stage, this.#random.fork());
  }

  async run(): Promise<Findings> {
    const { findings, server } = this.#stage;
    const { wrongEnough = WRONG_ENOUGH } = this.#options;
    const { kills } = this.#options;
    await server.start();
    server.openGate();
    await this.#rehearse();
    while (findings.kills < kills && findings.wrong.length < wrongEnough) {
      await this.#rounds.play(this.#chooseRound());
      if (this.#random.chance(0.06)) await this.#rounds.stopAndKill();
      this.#options.onProgress?.(findings);
    }
    return findings;
  }

  /** Chooses a storm only if it is a small part of all kills. */
  #chooseRound(): Round {
    const { kills } = this.#options;
    const hasStormed = this.#stage.findings.counted("storms") > 0;
    const kind =
      kills >= 5 * ROUNDS.storm && !hasStormed && this.#stage.findings.kills > kills / 2
        ? "storm"
        : this.#random.weighted<Round>({
            single: 8,
            double: 3,
            three: 2,
            five: 1,
            storm: kills >= 5 * ROUNDS.storm ? 0.1 : 0,
          });
    if (kind === "storm") this.#stage.findings.count("storms");
    return kind;
  }

  /** Runs each shape once, undisturbed, to record its parts. */
  async #rehearse(): Promise<void> {
    const url = await this.#stage.server.gate.url();
    const rehearsals = Object.keys(SHAPES).map(async (shape) => {
      const talk = this.#rounds.newTalk();
      const turn = this.#rounds.begin(talk, { shape, faults: new Map(), toolMs: 0, deltaMs: 1 });
      await this.#rounds.clientOf(turn, "rehearsal").ask();
      const response = await fetch(`${url}/conversations/${talk.id}/messages`);
      const { messages } = (await response.json()) as { messages: readonly UIMessage[] };
      const parts = plainParts(messages.at(-1)?.parts ?? [], turn.script);
      this.#stage.references.set(shape, parts);
      if (!isWhole(parts, turn.script))
        this.#stage.findings.blame("R9", `${shape}: ${parts.join(", ")}`);
      await talk.check(url);
    });
    await Promise.all(rehearsals);
  }
}

/** True if an undisturbed turn has the text of each step and a result for each call that was not denied. */
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
