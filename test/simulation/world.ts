import { createHash } from "node:crypto";
import type { Blobs } from "../../src/store/bytes/blobs.ts";
import { MemoryBlobs } from "../../src/store/bytes/memory-blobs.ts";
import type { Random } from "../chaos/random.ts";
import { Clock } from "./clock.ts";
import { Broken } from "./client.ts";
import { Database } from "./database.ts";

/** What a tool did, as the world outside knows it. */
export interface Execution {
  /** The call's in the plan, as its idempotency key has it; empty if it has none. */
  readonly id: string;
  readonly toolCallId: string;
  readonly tool: string;
  /** Was its result written down at that time? */
  readonly wasCommitted: boolean;
}

/** What is outside of the object's memory, and outlives it. */
export class World {
  readonly clock = new Clock();
  readonly database = new Database();
  readonly blobs = new MemoryBlobs();
  readonly ledger: Execution[] = [];
  /** How often the model was called, by turn and step. */
  readonly modelCalls = new Map<string, number>();
  /** How many objects there have been. */
  objects = 0;
  readonly #random: Random;
  #waiting: (() => void)[] = [];
  #ids = 0;
  #isStopped = false;
  /** Of tools that work. */
  readonly #signals = new Set<AbortSignal>();
  #broken: Broken | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  newId(kind: string): string {
    return `${kind}_${++this.#ids}`;
  }

  /** A wait that is over when the scheduler says so, or never. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * A wait for something outside: as the platform has it, nothing leaves an object before what the object
   * had written is kept.
   */
  async outside(): Promise<void> {
    const { position } = this.database;
    await this.wait();
    this.database.confirm(position);
  }

  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  /** Ends one of the waits. */
  release(): void {
    this.clock.nowMs += this.#random.chance(0.02) ? 2_500 : this.#random.between(0, 20);
    const [resolve] = this.#waiting.splice(this.#random.between(0, this.#waiting.length - 1), 1);
    resolve?.();
  }

  /** Items that come one after the other, and then the error, if there is one. */
  stream<Item>(items: readonly Item[], error?: Error): ReadableStream<Item> {
    let next = 0;
    return new ReadableStream<Item>(
      {
        pull: async (controller) => {
          await this.wait();
          const item = items[next++];
          if (item !== undefined) controller.enqueue(item);
          else if (error === undefined) controller.close();
          else controller.error(error);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** What somebody outside sees that must not be: whoever is in between may not swallow it. */
  require(isKept: boolean, promise: string): asserts isKept {
    if (isKept) return;
    this.#broken ??= new Broken(promise);
    throw this.#broken;
  }

  throwIfBroken(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  requireRunning(who: string): void {
    this.require(!this.#isStopped, `R8: ${who} is called in a turn that was stopped`);
  }

  /** A tool that works is told of a stop; returns what it calls when it is done. */
  tell(signal: AbortSignal | undefined): () => void {
    this.require(signal !== undefined, "R8: a tool has no signal");
    this.#signals.add(signal);
    return () => this.#signals.delete(signal);
  }

  /** Somebody has stopped the turn that runs. */
  stop(): void {
    this.#isStopped = true;
    for (const { aborted } of this.#signals)
      this.require(aborted, "R8: a tool was not told to stop");
  }

  /** A turn is begun, or gone on with. */
  start(): void {
    this.#isStopped = false;
  }

  /** The object's memory is gone: nothing that it waits for ever comes. */
  crash(): void {
    this.#waiting = [];
    this.#signals.clear();
    this.clock.forget();
  }

  /** The bucket as an object has it: each call takes a while, there and back. */
  bucket(): Blobs {
    const { blobs } = this;
    const slowly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      await this.outside();
      const result = await work();
      await this.wait();
      return result;
    };
    return {
      put: (key, bytes) => slowly(() => blobs.put(key, bytes)),
      read: (key, from, to) => slowly(() => blobs.read(key, from, to)),
      delete: (keys) => slowly(() => blobs.delete(keys)),
      list: (prefix) => slowly(() => blobs.list(prefix)),
      upload: async (key) => {
        const upload = await slowly(() => blobs.upload(key));
        return {
          write: (bytes) => slowly(() => upload.write(bytes)),
          complete: () => slowly(() => upload.complete()),
          abort: () => slowly(() => upload.abort()),
        };
      },
    };
  }

  /** Time and digests are the world's; returns how to give the process its own back. */
  install(): () => void {
    const restoreTimers = this.clock.install();
    const { subtle } = crypto;
    const digest = subtle.digest.bind(subtle);
    // The platform's comes from another thread, when it likes.
    subtle.digest = async (_algorithm, data) => {
      await this.wait();
      const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
      const hash = createHash("sha256")
        .update(bytes as Uint8Array)
        .digest();
      return new Uint8Array(hash).buffer;
    };
    return () => {
      subtle.digest = digest;
      restoreTimers();
    };
  }
}
