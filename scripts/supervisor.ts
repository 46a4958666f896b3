import { setTimeout as wait } from "node:timers/promises";

/** So long a single question may wait for its answer. */
const ANSWERS_WITHIN_MS = 1_000;
const PAUSE_MS = 1_000;
const PAUSE_AFTER_SILENCE_MS = 250;
/**
 * Unanswered questions in a row after which a process is given up: one that has used so much CPU meanwhile
 * is in a loop; one that has not is crowded out by others, and may need longer. Counted, not timed: a
 * machine that sleeps asks none.
 */
const MAX_UNANSWERED = { busy: 2, unknown: 6, crowded: 24 };
const BUSY_CPU_MS = 2_500;
const STARTS_WITHIN_MS = 60_000;

/** Something that runs, and can be asked over HTTP whether it does. */
export interface Supervised {
  /** Its exit code. */
  readonly exited: Promise<number>;
  /** Called once it answers. */
  noteFamily(): void;
  /** CPU time that it has used so far, in milliseconds; undefined where that cannot be told. */
  cpuMs(): number | undefined;
  /** At once, whatever it does. */
  kill(): void;
  stop(): Promise<void>;
}

export interface SupervisorOptions<Process extends Supervised> {
  readonly start: () => Process;
  /** Answers with 200 while all is well. */
  readonly url: string;
  /** Told in a line of each restart, as it begins. */
  readonly say: (line: string) => void;
}

/**
 * Keeps a process running: code that never lets go of its thread stops a whole local workerd, in which no
 * CPU limit holds. What answers no more, or has gone, is killed and started again.
 */
export class Supervisor<Process extends Supervised> {
  readonly #options: SupervisorOptions<Process>;
  #current: Process;
  #isUp = false;
  #isStopping = false;

  constructor(options: SupervisorOptions<Process>) {
    this.#options = options;
    this.#current = options.start();
  }

  /** The process as it is now. */
  get current(): Process {
    return this.#current;
  }

  /** Does it answer, as far as is known? */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** False if it ends, or does not answer in time. */
  async ready(): Promise<boolean> {
    const process = this.#current;
    const gone = new AbortController();
    const isReady = await Promise.race([
      this.#untilHealthy(gone.signal),
      process.exited.then(() => false),
    ]);
    gone.abort();
    if (isReady) process.noteFamily();
    this.#isUp = isReady && !this.#isStopping;
    return this.#isUp;
  }

  /** Resolves with an exit code once it is stopped, or does not come back. Call it once it is ready. */
  async watch(): Promise<number> {
    for (;;) {
      const why = await this.#untilSilent();
      if (this.#isStopping) return this.#current.exited;
      this.#isUp = false;
      this.#options.say(`The Worker ${why}; it is restarted on the same state.`);
      await this.#end();
      if (this.#isStopping) return 1;
      this.#current = this.#options.start();
      if (await this.ready()) continue;
      const isStopping = this.#isStopping;
      await this.#end();
      if (!isStopping) this.#options.say("The Worker did not start again.");
      return 1;
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#isUp = false;
    await this.#current.stop();
  }

  async #end(): Promise<void> {
    this.#current.kill();
    await this.#current.exited;
  }

  async #untilHealthy(signal: AbortSignal): Promise<boolean> {
    const end = Date.now() + STARTS_WITHIN_MS;
    while (Date.now() < end && !signal.aborted) {
      if (await answers(this.#options.url)) return true;
      await wait(100);
    }
    return false;
  }

  /** Resolves with what happened. */
  async #untilSilent(): Promise<string> {
    let hasExited = false;
    void this.#current.exited.then(() => {
      hasExited = true;
    });
    let cpuMs = this.#current.cpuMs();
    for (let unanswered = 0; ;) {
      if (this.#isStopping) return "is stopped";
      if (hasExited) {
        // Ctrl-C reaches it too, and it may be faster than we are.
        await wait(PAUSE_AFTER_SILENCE_MS);
        return "has ended";
      }
      unanswered = (await answers(this.#options.url)) ? 0 : unanswered + 1;
      if (unanswered === 0) cpuMs = this.#current.cpuMs();
      else if (unanswered >= patience(cpuMs, this.#current.cpuMs())) return "does not answer";
      const pause = wait(unanswered === 0 ? PAUSE_MS : PAUSE_AFTER_SILENCE_MS);
      await Promise.race([pause, this.#current.exited]);
    }
  }
}

function patience(before: number | undefined, now: number | undefined): number {
  if (before === undefined || now === undefined) return MAX_UNANSWERED.unknown;
  return now - before >= BUSY_CPU_MS ? MAX_UNANSWERED.busy : MAX_UNANSWERED.crowded;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
