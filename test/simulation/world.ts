import { createHash } from "node:crypto";
import type { Blobs } from "../../src/store/blobs.ts";
import { MemoryBlobs } from "../../src/store/memory-blobs.ts";
import type { Random } from "../chaos/random.ts";
import { Clock } from "./clock.ts";
import { Database } from "./database.ts";

/** What a tool did, as the world outside knows it. */
export interface Execution {
  readonly toolCallId: string;
  readonly tool: string;
  readonly key: string | undefined;
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

  /** The object's memory is gone: nothing that it waits for ever comes. */
  crash(): void {
    this.#waiting = [];
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
