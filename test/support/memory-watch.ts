import { GCProfiler, getHeapStatistics } from "node:v8";

const SAMPLE_MS = 5;

export interface Measured {
  readonly operation: string;
  readonly ms: number;
  /** The heap in use and what it holds outside of it (buffers), as an isolate is charged for. */
  readonly peakBytes: number;
  /** The whole process: V8's reserves, SQLite's cache and Node itself included. */
  readonly peakRssBytes: number;
}

export interface MeasuredLive extends Measured {
  /** The most that was in use after a forced collection: what is really needed. */
  readonly peakLiveBytes: number;
}

/** What is in use, buffers included, once garbage is collected. Needs `--expose-gc`. */
export function liveBytes(): number {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("Node was started without --expose-gc.");
  // Buffers that the first one frees are counted until the second.
  gc();
  gc();
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

/**
 * Measures memory while something runs. What is in use grows from one garbage collection to the next, so
 * it is looked at before each of them (that is where peaks are, also inside of one `JSON.parse`), every
 * few milliseconds, and at the end. Garbage that V8 has not collected yet counts.
 */
export async function measure<Result>(
  operation: string,
  work: () => Result | Promise<Result>,
): Promise<{ readonly result: Result; readonly measured: Measured }> {
  const watch = new Watch();
  const startMs = performance.now();
  try {
    const result = await work();
    const ms = performance.now() - startMs;
    return { result, measured: { operation, ms, ...watch.stop() } };
  } finally {
    watch.stop();
  }
}

class Watch {
  readonly #profiler = new GCProfiler();
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;
  #peakRssBytes = 0;

  constructor() {
    this.#look();
    this.#profiler.start();
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS);
  }

  stop(): Pick<Measured, "peakBytes" | "peakRssBytes"> {
    clearInterval(this.#timer);
    this.#look();
    for (const { beforeGC } of this.#profiler.stop()?.statistics ?? []) {
      const { usedHeapSize, externalMemory } = beforeGC.heapStatistics;
      this.#note(usedHeapSize + externalMemory);
    }
    return { peakBytes: this.#peakBytes, peakRssBytes: this.#peakRssBytes };
  }

  #look(): void {
    const { used_heap_size, external_memory } = getHeapStatistics();
    this.#note(used_heap_size + external_memory);
    this.#peakRssBytes = Math.max(this.#peakRssBytes, process.memoryUsage.rss());
  }

  #note(bytes: number): void {
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }
}
