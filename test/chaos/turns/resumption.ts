import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "./ledger.ts";
import { glanceAtTurns, openOn } from "./disk.ts";

const RESUMED_WITHIN_MS = 3_000;
const GLANCE_EVERY_MS = 250;

/** Waits until each interrupted turn shows a first sign of activity, without any client's request. */
export class Resumption {
  readonly #stateDir: string;
  /** Markers of the interrupted turns, by conversation. */
  readonly #waiting: Map<string, string>;
  readonly #firstMs: number[] = [];
  readonly #stopWatching: () => void;
  readonly #isCurrent: () => boolean;

  /** Must be created before the server restarts; `isCurrent` returns false after the next kill. */
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

  /**
   * Returns the times of the first model or tool calls, and the conversations whose turn made none and did
   * not end.
   */
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

  /** Forgets ended turns. A turn that only had to be closed calls no model and no tool. */
  #forgetEnded(): void {
    const objects = glanceAtTurns(this.#stateDir);
    if (objects === undefined) return;
    const open = new Set(openOn(objects));
    for (const conversation of this.#waiting.keys()) {
      if (!open.has(conversation)) this.#waiting.delete(conversation);
    }
  }
}
