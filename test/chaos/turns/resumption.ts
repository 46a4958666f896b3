import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "./ledger.ts";
import { glanceAtTurns, openOn } from "./disk.ts";

const RESUMED_WITHIN_MS = 3_000;
const GLANCE_EVERY_MS = 250;

/** Waits for the first sign of each of these turns that comes without any client's doing. */
export class Resumption {
  readonly #stateDir: string;
  /** By conversation: the marker of the turn that was cut off. */
  readonly #waiting: Map<string, string>;
  readonly #firstMs: number[] = [];
  readonly #stopWatching: () => void;
  readonly #isCurrent: () => boolean;

  /** From before the server is started again; `isCurrent` turns false when it is killed. */
  constructor(
    stateDir: string,
    ledger: Ledger,
    { waiting, isCurrent }: { waiting: ReadonlyMap<string, string>; isCurrent: () => boolean },
  ) {
    this.#stateDir = stateDir;
    this.#waiting = new Map(waiting);
    this.#isCurrent = isCurrent;
    this.#stopWatching = ledger.watch(({ marker, atMs, kind }) => {
      if (kind !== "model" && kind !== "start") return;
      for (const [conversation, waited] of this.#waiting) {
        if (waited !== marker) continue;
        this.#waiting.delete(conversation);
        this.#firstMs.push(atMs);
      }
    });
  }

  /** When each of those began that called a model or a tool, and those that neither did so nor ended. */
  async result(): Promise<{ readonly firstMs: readonly number[]; readonly asleep: string[] }> {
    const giveUpMs = performance.now() + RESUMED_WITHIN_MS;
    let glanceMs = performance.now() + GLANCE_EVERY_MS;
    while (this.#waiting.size > 0 && this.#isCurrent() && performance.now() < giveUpMs) {
      await sleep(10);
      if (performance.now() < glanceMs) continue;
      this.#forgetEnded();
      glanceMs = performance.now() + GLANCE_EVERY_MS;
    }
    this.#stopWatching();
    const asleep = this.#isCurrent() ? [...this.#waiting.keys()] : [];
    return { firstMs: this.#firstMs, asleep };
  }

  /** What only had to be ended calls nobody. */
  #forgetEnded(): void {
    const objects = glanceAtTurns(this.#stateDir);
    if (objects === undefined) return;
    const open = new Set(openOn(objects));
    for (const conversation of this.#waiting.keys()) {
      if (!open.has(conversation)) this.#waiting.delete(conversation);
    }
  }
}
