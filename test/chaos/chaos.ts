import { setTimeout as sleep } from "node:timers/promises";
import { ConversationModel } from "./conversation-model.ts";
import { countOrphans, forgottenOn, orphansOn, readDisk, wrongOnDisk } from "./disk.ts";
import { Random } from "./random.ts";
import { lookAt } from "./read.ts";
import { bundleWorker, type ChaosWorker, startWorker } from "./worker.ts";
import { type Counts, Workload } from "./workload.ts";

interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** A fresh folder. */
  readonly stateDir: string;
  readonly onProgress?: (report: Report) => void;
}

interface Report {
  readonly seed: number;
  kills: number;
  readonly counts: Counts;
  /** Variables found evicted. */
  readonly evicted: Set<string>;
  /** Number of values read in full after a restart. */
  whole: number;
  /** Number of bodies that a kill left without a variable. They must be swept afterwards. */
  orphans: number;
  /** Number of conversations killed after their rows were deleted and before their bodies were. */
  halfDeleted: number;
  openUploads: number;
  /** From the start of the processes to the first answer of a conversation. */
  readonly restartMs: number[];
  /** The part of `restartMs` after the port opened, while the object wakes and reads. */
  readonly answerMs: number[];
  /** Conversations that no alarm will wake. */
  readonly forgotten: string[];
  /** Findings that nothing explains. The run stops after the first kill with any. */
  readonly wrong: string[];
}

const CONVERSATIONS = 4;
/**
 * Bytes that are read while their variable is evicted are swept by the alarm a minute later (`SWEEP_AFTER_MS` in
 * `src/edge/conversation-data.ts`), all others at once.
 */
const SWEPT_WITHIN_MS = 75_000;

/** Kills a server under load repeatedly and compares what it has afterwards with what it acknowledged. */
export async function runChaos({ kills, seed, stateDir, onProgress }: ChaosOptions) {
  const report: Report = {
    seed,
    kills: 0,
    counts: {
      writes: 0,
      deletes: 0,
      resets: 0,
      ends: 0,
      reads: 0,
      unanswered: 0,
      refused: new Map(),
    },
    evicted: new Set(),
    whole: 0,
    orphans: 0,
    halfDeleted: 0,
    openUploads: 0,
    restartMs: [],
    answerMs: [],
    forgotten: [],
    wrong: [],
  };
  await new Chaos(report, stateDir, onProgress ?? (() => undefined)).run(kills);
  return report;
}

class Chaos {
  readonly #report: Report;
  readonly #stateDir: string;
  readonly #onProgress: (report: Report) => void;
  readonly #random: Random;
  readonly #models = Array.from(
    { length: CONVERSATIONS },
    (_, index) => new ConversationModel(`talk-${index}`),
  );

  constructor(report: Report, stateDir: string, onProgress: (report: Report) => void) {
    this.#report = report;
    this.#stateDir = stateDir;
    this.#onProgress = onProgress;
    this.#random = new Random(report.seed);
  }

  async run(kills: number): Promise<void> {
    const bundle = await bundleWorker(this.#stateDir);
    let worker = await startWorker(this.#stateDir, bundle);
    try {
      while (this.#report.kills < kills && this.#report.wrong.length === 0) {
        await this.#workAndKill(worker);
        if (this.#report.wrong.length > 0) break;
        worker = await this.#restart(bundle);
        // Sometimes it is killed again while it recovers.
        if (this.#random.chance(0.15) && this.#report.kills < kills) {
          await this.#wakeAndKill(worker);
          worker = await this.#restart(bundle);
        }
        await this.#look(worker.url);
        await this.#awaitSweep();
        this.#onProgress(this.#report);
      }
    } finally {
      await worker.kill();
    }
  }

  async #workAndKill(worker: ChaosWorker): Promise<void> {
    const { counts, wrong } = this.#report;
    const workload = new Workload({
      url: worker.url,
      models: this.#models,
      random: this.#random.fork(),
      counts,
    });
    await this.#untilAnyMoment(workload);
    const killedMs = Date.now();
    await worker.kill();
    wrong.push(...(await workload.end(killedMs)));
    this.#afterKill();
  }

  /** Waits for a random number of answers, then for a random delay. */
  async #untilAnyMoment(workload: Workload): Promise<void> {
    const answers = this.#random.magnitude(4, 90);
    const giveUpMs = Date.now() + 10_000;
    while (workload.answers < answers && Date.now() < giveUpMs) await sleep(1);
    // Deletions and resets are rare and short. Without this, a kill would seldom hit one.
    const kind = this.#random.weighted({ any: 7, end: 2, reset: 1 });
    if (kind !== "any") await workload.provoke(kind);
    await sleep(this.#random.between(0, 60));
  }

  async #wakeAndKill(worker: ChaosWorker): Promise<void> {
    for (const { id } of this.#models) {
      void fetch(`${worker.url}/conversations/${id}`).catch(() => undefined);
    }
    await sleep(this.#random.between(0, 60));
    await worker.kill();
    this.#afterKill();
  }

  #afterKill(): void {
    const report = this.#report;
    report.kills++;
    const disk = readDisk(this.#stateDir);
    report.wrong.push(...wrongOnDisk(disk));
    report.forgotten.push(...forgottenOn(disk));
    report.orphans += orphansOn(disk).length;
    report.halfDeleted += disk.objects.filter(({ isDeleting }) => isDeleting).length;
    report.openUploads = disk.openUploads;
  }

  async #restart(bundle: string): Promise<ChaosWorker> {
    const worker = await startWorker(this.#stateDir, bundle);
    const listensMs = performance.now();
    await fetch(`${worker.url}/conversations/${this.#models[0]?.id}/variables`);
    const answerMs = performance.now() - listensMs;
    this.#report.answerMs.push(answerMs);
    this.#report.restartMs.push(worker.startMs + answerMs);
    return worker;
  }

  async #look(url: string): Promise<void> {
    for (const model of this.#models) {
      const look = await lookAt(url, model);
      for (const [name, { status, tombstone }] of look.variables) {
        if (status === 200) this.#report.whole++;
        if (status === 410) this.#report.evicted.add(`${model.id} ${name} ${tombstone?.evictedAt}`);
      }
      this.#report.wrong.push(...model.settle(look));
    }
  }

  /** Waits for the sweep, which the requests of `#look` have started in every conversation. */
  async #awaitSweep(): Promise<void> {
    const giveUpMs = Date.now() + SWEPT_WITHIN_MS;
    for (;;) {
      // Reads a copy so that the server never finds its files locked.
      const orphans = countOrphans(this.#stateDir);
      if (orphans === 0) return;
      if (Date.now() > giveUpMs) {
        const what = `${orphans ?? "an unknown number of"} objects in the bucket are nobody's`;
        this.#report.wrong.push(`After ${SWEPT_WITHIN_MS} ms: ${what}`);
        return;
      }
      await sleep(50);
    }
  }
}
