import { setTimeout as wait } from "node:timers/promises";

/** Time limit of a single health check. */
const CHECK_TIMEOUT_MS = 1_000;
const PAUSE_MS = 1_000;
const PAUSE_AFTER_SILENCE_MS = 250;
/** If this much data passed the listener since the last check, the process is slow, not in a loop. */
const PROGRESS_BYTES = 256 * 1_024;
/** Long, because a crowded machine starts wrangler slowly; a process that ends is noticed at once. */
const START_TIMEOUT_MS = 180_000;
const MAX_RESTARTS = 3;

/**
 * Failed health checks in a row after which a process is killed. Checks are counted, not timed, because a
 * sleeping machine sends none.
 */
export interface FailureLimits {
  /** If it has lost a child process since its last response. */
  readonly lost: number;
  /** If it has used `busyCpuMs` since then: it is in a loop. */
  readonly busy: number;
  readonly busyCpuMs: number;
  /** If it has used less: other processes slow it down, and it may need longer. */
  readonly crowded: number;
  /** If its CPU time is unknown. */
  readonly unknown: number;
}

/** For a Worker, which may be busy for a while, for example with a large upload on a loaded machine. */
export const WORKER_LIMITS: FailureLimits = {
  lost: 5,
  busy: 8,
  busyCpuMs: 10_000,
  crowded: 24,
  unknown: 8,
};

/** For the process that runs code: it restarts quickly, and only code keeps it busy. */
export const SANDBOX_LIMITS: FailureLimits = {
  lost: 1,
  busy: 2,
  busyCpuMs: 1_000,
  crowded: 12,
  unknown: 3,
};

/** A running process with a health check over HTTP. */
export interface Supervised {
  /** Its exit code. Resolves when all its child processes have ended too. */
  readonly exited: Promise<number>;
  /** Records its processes. Called after a response, because wrangler replaces its workerd at times. */
  recordProcesses(): void;
  /** False if a recorded process has ended. */
  hasAllProcesses(): boolean;
  /** CPU time of the recorded processes, in milliseconds; undefined if unknown. */
  cpuMs(): number | undefined;
  /** The last output that it wrote to pipes. */
  lastOutput(): string;
  /** Ends it and all its child processes at once. */
  kill(): void;
  /** Ends it gracefully, within a time limit. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly start: () => Supervised;
  /** Health check: responds with 200 while the process works. */
  readonly url: string;
  readonly limits: FailureLimits;
  /** Bytes received and sent so far. Default: not counted. */
  readonly bytes?: () => number;
  /** Its name in messages, and what a restart does. */
  readonly name: string;
  readonly restart: string;
  /** Receives a line for each restart, when it begins. */
  readonly log: (line: string) => void;
}

/**
 * Keeps a process running. Code that never yields its thread blocks a whole local workerd, which enforces no
 * CPU limit. A process that stops responding, or has ended, is killed and started again.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #current: Supervised;
  #isUp = false;
  #isStopping = false;
  #failure = "";

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#current = this.#start();
  }

  /** Why the last start failed, and the last output of that process; empty if it did not fail. */
  get failure(): string {
    return this.#failure;
  }

  /** True if the last known state is responsive. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Waits for the first response. False if the process ends, or does not respond in time. */
  async ready(): Promise<boolean> {
    const process = this.#current;
    const gone = new AbortController();
    const failure = await Promise.race([
      this.#untilHealthy(gone.signal),
      process.exited.then((code) => `It ended with exit code ${code}.`),
    ]);
    gone.abort();
    const isReady = failure === undefined;
    if (isReady) process.recordProcesses();
    this.#failure = isReady ? "" : `${process.lastOutput()}\n${failure}\n`;
    this.#isUp = isReady && !this.#isStopping;
    return this.#isUp;
  }

  /** Resolves with an exit code once the process is stopped or cannot be restarted. Call it after `ready`. */
  async watch(): Promise<number> {
    const { name, restart, log } = this.#options;
    for (;;) {
      const why = await this.#untilUnresponsive();
      if (this.#isStopping) return this.#current.exited;
      this.#isUp = false;
      log(`The ${name} ${why}; ${restart}.`);
      await this.#end();
      if (this.#isStopping) return 1;
      if (await this.#restart()) continue;
      const isStopping = this.#isStopping;
      await this.#end();
      if (isStopping) return 1;
      log(`The ${name} did not start again.\n${this.#failure}`);
      return 1;
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#isUp = false;
    await this.#current.stop();
  }

  /** Tries several times: a start may fail for a temporary reason, such as a port in use. */
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

  /** Resolves with the reason if it does not respond in time. */
  async #untilHealthy(signal: AbortSignal): Promise<string | undefined> {
    const end = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < end && !signal.aborted) {
      if (await isResponsive(this.#options.url)) return undefined;
      await wait(100);
    }
    return `It did not respond within ${START_TIMEOUT_MS / 1_000} seconds.`;
  }

  /** Resolves with the reason when the process has ended or does not respond. */
  async #untilUnresponsive(): Promise<string> {
    let hasExited = false;
    void this.#current.exited.then(() => {
      hasExited = true;
    });
    let { cpuMs, bytes } = this.#usage();
    for (let failedChecks = 0; ;) {
      if (this.#isStopping) return "is stopped";
      if (hasExited) {
        // Ctrl-C ends the child too, perhaps before this process handles it.
        await wait(PAUSE_AFTER_SILENCE_MS);
        return "has ended";
      }
      const hasResponded = await isResponsive(this.#options.url);
      const usage = this.#usage();
      if (hasResponded) this.#current.recordProcesses();
      if (hasResponded || usage.bytes - bytes >= PROGRESS_BYTES) {
        failedChecks = 0;
        ({ cpuMs } = usage);
      } else {
        failedChecks++;
        if (failedChecks >= this.#failureLimit(cpuMs, usage.cpuMs)) return "does not answer";
      }
      ({ bytes } = usage);
      const pause = wait(failedChecks === 0 ? PAUSE_MS : PAUSE_AFTER_SILENCE_MS);
      await Promise.race([pause, this.#current.exited]);
    }
  }

  #usage() {
    return { cpuMs: this.#current.cpuMs(), bytes: this.#options.bytes?.() ?? 0 };
  }

  #failureLimit(before: number | undefined, now: number | undefined): number {
    const { lost, busy, busyCpuMs, crowded, unknown } = this.#options.limits;
    if (!this.#current.hasAllProcesses()) return lost;
    if (before === undefined || now === undefined) return unknown;
    return now - before >= busyCpuMs ? busy : crowded;
  }
}

async function isResponsive(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
