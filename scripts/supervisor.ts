import { setTimeout as wait } from "node:timers/promises";

/** So long a single question may wait for its answer. */
const ANSWERS_WITHIN_MS = 1_000;
const PAUSE_MS = 1_000;
const PAUSE_AFTER_SILENCE_MS = 250;
/** So much passed through the listener since the last question: it is slow, and not in a loop. */
const PROGRESS_BYTES = 256 * 1_024;
const STARTS_WITHIN_MS = 60_000;
const MAX_RESTARTS = 3;

/**
 * Unanswered questions in a row after which a process is given up. Counted, not timed: a machine that sleeps
 * asks none.
 */
export interface Patience {
  /** It has lost one of its own processes since it last answered. */
  readonly lost: number;
  /** It has used this much CPU since then: it is in a loop. */
  readonly busy: number;
  readonly busyCpuMs: number;
  /** It has used less: others crowd it out, and it may need longer. */
  readonly crowded: number;
  /** Nobody can say how much it has used. */
  readonly unknown: number;
}

/** A Worker may be busy for a while: with a large upload, say, on a machine that has much else to do. */
export const PATIENT: Patience = {
  lost: 5,
  busy: 8,
  busyCpuMs: 10_000,
  crowded: 24,
  unknown: 8,
};

/** What runs code is restarted in a moment, and nothing but code keeps it busy. */
export const IMPATIENT: Patience = {
  lost: 1,
  busy: 2,
  busyCpuMs: 1_000,
  crowded: 12,
  unknown: 3,
};

/** Something that runs, and can be asked over HTTP whether it does. */
export interface Supervised {
  /** Its exit code. By then all that it started has ended too. */
  readonly exited: Promise<number>;
  /** Takes note of its processes. Called when it has answered: wrangler replaces its workerd now and then. */
  noteFamily(): void;
  /** False if one of those has ended. */
  isWhole(): boolean;
  /** CPU time of those so far, in milliseconds; undefined where that cannot be told. */
  cpuMs(): number | undefined;
  /** The last of what it wrote to piped outputs. */
  said(): string;
  /** Ends it and all that it started, at once. */
  kill(): void;
  /** Lets it end by itself for a while. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly start: () => Supervised;
  /** Answers with 200 while all is well. */
  readonly url: string;
  readonly patience: Patience;
  /** Bytes that it has taken or sent so far. Default: nobody counts them. */
  readonly bytes?: () => number;
  /** What it is called in what is said, and what a restart means. */
  readonly name: string;
  readonly restart: string;
  /** Told in a line of each restart, as it begins. */
  readonly say: (line: string) => void;
}

/**
 * Keeps a process running: code that never lets go of its thread stops a whole local workerd, in which no
 * CPU limit holds. What answers no more, or has gone, is killed and started again.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #current: Supervised;
  #isUp = false;
  #isStopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#current = this.#start();
  }

  /** The last of what the process wrote. */
  said(): string {
    return this.#current.said();
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
    const { name, restart, say } = this.#options;
    for (;;) {
      const why = await this.#untilSilent();
      if (this.#isStopping) return this.#current.exited;
      this.#isUp = false;
      say(`The ${name} ${why}; ${restart}.`);
      await this.#end();
      if (this.#isStopping) return 1;
      if (await this.#restart()) continue;
      const isStopping = this.#isStopping;
      await this.#end();
      if (isStopping) return 1;
      say(`The ${name} did not start again.\n${this.#current.said()}`);
      return 1;
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#isUp = false;
    await this.#current.stop();
  }

  /** A start may fail for a reason that passes: another program has just taken the port, say. */
  async #restart(): Promise<boolean> {
    for (let left = MAX_RESTARTS; left > 0 && !this.#isStopping; left--) {
      this.#current = this.#start();
      if (await this.ready()) return true;
      await this.#end();
      if (!this.#isStopping) await wait(PAUSE_MS);
    }
    return false;
  }

  #start(): Supervised {
    const started = this.#options.start();
    void started.exited.then(() => {
      if (this.#current === started) this.#isUp = false;
    });
    return started;
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
    let { cpuMs, bytes } = this.#usage();
    for (let unanswered = 0; ;) {
      if (this.#isStopping) return "is stopped";
      if (hasExited) {
        // Ctrl-C reaches it too, and it may be faster than we are.
        await wait(PAUSE_AFTER_SILENCE_MS);
        return "has ended";
      }
      const hasAnswered = await answers(this.#options.url);
      const usage = this.#usage();
      if (hasAnswered) this.#current.noteFamily();
      if (hasAnswered || usage.bytes - bytes >= PROGRESS_BYTES) {
        unanswered = 0;
        ({ cpuMs } = usage);
      } else {
        unanswered++;
        if (unanswered >= this.#patience(cpuMs, usage.cpuMs)) return "does not answer";
      }
      ({ bytes } = usage);
      const pause = wait(unanswered === 0 ? PAUSE_MS : PAUSE_AFTER_SILENCE_MS);
      await Promise.race([pause, this.#current.exited]);
    }
  }

  #usage() {
    return { cpuMs: this.#current.cpuMs(), bytes: this.#options.bytes?.() ?? 0 };
  }

  #patience(before: number | undefined, now: number | undefined): number {
    const { lost, busy, busyCpuMs, crowded, unknown } = this.#options.patience;
    if (!this.#current.isWhole()) return lost;
    if (before === undefined || now === undefined) return unknown;
    return now - before >= busyCpuMs ? busy : crowded;
  }
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
