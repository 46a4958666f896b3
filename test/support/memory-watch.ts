import { GCProfiler, getHeapStatistics } from "node:v8";

const SAMPLE_MS = 5;

export interface Measured {
  readonly operation: string;
  readonly ms: number;
  /** The heap in use and its external memory (buffers), as an isolate is charged. */
  readonly peakBytes: number;
  /** The whole process, including V8's reserves, SQLite's cache and Node itself. */
  readonly peakRssBytes: number;
}

export interface MeasuredLive extends Measured {
  /** The peak after a forced garbage collection: the memory that is really needed. */
  readonly peakLiveBytes: number;
}

/** Returns the memory in use after garbage collection, including buffers. Needs `--expose-gc`. */
export function liveBytes(): number {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("Node was started without --expose-gc.");
  // Buffers that the first collection frees are still counted until the second.
  gc();
  gc();
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

/**
 * Measures memory while `work` runs. Memory grows between garbage collections, so it is sampled before each
 * collection (where the peaks are, even inside one `JSON.parse`), every few milliseconds, and at the end.
 * Includes garbage that V8 has not collected yet.
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
