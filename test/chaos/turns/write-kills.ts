import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "../random.ts";
import type { Ask } from "../writers.ts";
import { post } from "./client.ts";
import { questionOf, scriptFrom } from "./script.ts";
import { Server } from "./server.ts";
import { World } from "./world.ts";

/** Longer than any test, so that the tool never answers. */
const TOOL_MS = 3_600_000;
const GIVE_UP_MS = 15_000;

/** Kills a real server right after a client has written something during a turn whose tool hangs. */
export class WriteKills {
  readonly #world: World;
  readonly #server: Server;
  #turns = 0;

  static async open(stateDir: string): Promise<WriteKills> {
    const world = new World();
    return new WriteKills(world, new Server(stateDir, await world.start()));
  }

  private constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
  }

  async close(): Promise<void> {
    await this.#server.kill();
    this.#world.stop();
  }

  /**
   * Returns the milliseconds from the open port of the next process to the turn's first sign, without any
   * request in between; undefined if there is no sign.
   */
  async resumedMs(write: (ask: Ask, conversation: string) => Promise<unknown>) {
    const marker = `t${++this.#turns}x`;
    const script = scriptFrom(new Random(1), marker, { shape: "read", toolMs: TOOL_MS });
    this.#world.play(script);
    if (!this.#server.isRunning) await this.#server.start();
    this.#server.openGate();
    const url = await this.#server.gate.url();
    const { ledger } = this.#world;
    const asked = () => ledger.of(marker).filter(({ kind }) => kind === "start");
    void post(`${url}/conversations/${marker}/messages`, { message: questionOf(script) })
      // Cut off by the kill.
      .then((response) => response.text())
      .catch(() => undefined);
    while (asked().length === 0) await sleep(5);
    await write((method, path, init) => fetch(`${url}${path}`, { ...init, method }), marker);
    await this.#server.kill();
    await this.#server.start();
    const giveUpMs = performance.now() + GIVE_UP_MS;
    while (asked().length < 2 && performance.now() < giveUpMs) await sleep(5);
    const { atMs } = asked()[1] ?? {};
    return atMs && Math.max(atMs - this.#server.times.listensMs, 0);
  }
}
