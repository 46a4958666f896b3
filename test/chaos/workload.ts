import { inspect } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { ConversationModel } from "./conversation-model.ts";
import type { Timed } from "./model.ts";
import type { Random } from "./random.ts";
import { readVariable } from "./read.ts";
import { bodyOf, mediaTypes, type Piece } from "./values.ts";

const CLIENTS = 6;
const NAMES = ["apple", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel"];
const KIBI = 1_024;
const MEBI = 1_048_576;

/** Kinds and sizes of the values to write. */
const SORTS = {
  smallJson: { kind: "json", min: 10, max: 2 * KIBI },
  largeJson: { kind: "json", min: 32 * KIBI, max: 2 * MEBI },
  smallText: { kind: "text", min: 10, max: 32 * KIBI },
  largeText: { kind: "text", min: 48 * KIBI, max: 2.4 * MEBI },
  records: { kind: "records", min: 1 * KIBI, max: 4 * MEBI },
  manyRecords: { kind: "records", min: 7 * MEBI, max: 11 * MEBI },
  smallBytes: { kind: "bytes", min: 1, max: 60 * KIBI },
  bytes: { kind: "bytes", min: 65 * KIBI, max: 512 * KIBI },
  manyBytes: { kind: "bytes", min: 1 * MEBI, max: 11 * MEBI },
} as const;

/**
 * How often each sort is written. `bucket` writes only bodies that go to R2, so that more kills hit one of
 * the two steps of such a write.
 */
const MIXES = {
  everything: {
    smallJson: 30,
    largeJson: 14,
    smallText: 12,
    largeText: 9,
    records: 6,
    manyRecords: 3,
    smallBytes: 6,
    bytes: 16,
    manyBytes: 3,
  },
  bucket: { bytes: 30, manyBytes: 1 },
} as const;

const ACTIONS = {
  replace: 48,
  append: 13,
  new: 10,
  read: 10,
  delete: 9,
  cutOff: 4,
  reset: 4,
  end: 1.5,
};

/** What the clients did, over all kills. */
export interface Counts {
  /** Writes that were answered with 200 or 201. */
  writes: number;
  deletes: number;
  resets: number;
  ends: number;
  reads: number;
  /** Requests without an answer, because of a kill or because the client aborted. */
  unanswered: number;
  /** Error answers by status and code, and requests that broke off by cause. */
  readonly refused: Map<string, number>;
}

interface Broken {
  readonly startMs: number;
  readonly atMs: number;
  readonly request: string;
  readonly error: unknown;
}

interface WorkloadOptions {
  readonly url: string;
  readonly models: readonly ConversationModel[];
  readonly random: Random;
  readonly counts: Counts;
}

/** Clients that write, read and delete concurrently until the server is killed. */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #mix: Mix;
  readonly #clients: Promise<void>[];
  /** Requests that broke off, as expected at a kill. */
  readonly #broken: Broken[] = [];
  readonly #wrong: string[] = [];
  #isOver = false;
  #answers = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#mix = MIXES[options.random.weighted({ everything: 6, bucket: 4 })];
    this.#clients = Array.from({ length: CLIENTS }, () => this.#run(options.random.fork()));
  }

  /** Number of requests that were answered. */
  get answers(): number {
    return this.#answers;
  }

  /** Waits for the clients after the server was killed. Returns what was wrong before that. */
  async end(killedMs: number): Promise<readonly string[]> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    for (const broken of this.#broken) {
      const { atMs, request, error } = broken;
      if (atMs >= killedMs || this.#isOfDeleted(broken)) continue;
      // A client that is still sending may miss the answer. It then records the request as unanswered.
      if (request.startsWith("GET")) this.#wrong.push(`${request} broke off: ${inspect(error)}`);
      else count(this.#options.counts.refused, `broken off, ${codeOf(error)}`);
    }
    return this.#wrong;
  }

  /** True for a read of a conversation that was deleted meanwhile. A deletion does not wait for readers. */
  #isOfDeleted({ startMs, atMs, request }: Broken): boolean {
    return this.#options.models.some(
      (model) => request.startsWith(`GET ${model.id}/`) && model.mayEndDuring(startMs, atMs),
    );
  }

  /** Lets the clients finish, then deletes or resets every conversation at once. */
  async provoke(action: "end" | "reset"): Promise<void> {
    const { random, models } = this.#options;
    this.#isOver = true;
    await Promise.all(this.#clients);
    for (const model of models) {
      const keepLast = random.between(0, 4);
      this.#clients.push(action === "end" ? this.#end(model) : this.#reset(model, keepLast));
    }
  }

  async #run(random: Random): Promise<void> {
    while (!this.#isOver) {
      await this.#act(random);
      // Keeps clients from hammering a dead server.
      if (this.#broken.length > 0) await sleep(5);
    }
  }

  async #act(random: Random): Promise<void> {
    const model = random.one(this.#options.models);
    const action = random.weighted(ACTIONS);
    const known = model.names;
    const name = random.chance(0.3) && known.length > 0 ? random.one(known) : random.one(NAMES);
    const keepLast = random.between(0, 8);
    switch (action) {
      case "read":
        return this.#read(model, name);
      case "delete":
        return this.#delete(model, name);
      case "reset":
        return this.#reset(model, keepLast);
      case "end":
        return this.#end(model);
      case "new":
        return this.#put(model, this.#putFrom(random, "row", "new"));
      case "cutOff": {
        const cutOffMs = random.between(0, 30);
        return this.#put(model, { ...this.#putFrom(random, name, "replace"), cutOffMs });
      }
      default:
        return this.#put(model, this.#putFrom(random, name, action));
    }
  }

  #putFrom(random: Random, name: string, mode: Put["mode"]): Put {
    const { kind, min, max } = SORTS[random.weighted<keyof typeof SORTS>(this.#mix)];
    const piece = { kind, seed: random.next(), size: random.magnitude(min, max) };
    const isSlow = random.chance(0.3);
    const ttlMs = random.chance(0.12) ? random.between(1, 2) * 1_000 : undefined;
    return { name, mode, piece, isSlow, ...(ttlMs === undefined ? {} : { ttlMs }) };
  }

  async #put(model: ConversationModel, put: Put): Promise<void> {
    const { name, mode, piece, ttlMs, isSlow, cutOffMs } = put;
    const body = bodyOf(piece);
    const query = `mode=${mode}${ttlMs === undefined ? "" : `&ttl=${ttlMs / 1_000}`}`;
    const { counts } = this.#options;
    const asked = await this.#ask(`${model.id}/variables/${name}?${query}`, {
      method: "PUT",
      headers: { "content-type": mediaTypes[piece.kind] },
      body: isSlow ? slowly(body) : body,
      ...(isSlow ? { duplex: "half" } : {}),
      ...(cutOffMs === undefined ? {} : { signal: AbortSignal.timeout(cutOffMs) }),
    });
    const { status, json } = asked;
    const isDone = status === 200 || status === 201;
    if (isDone) counts.writes++;
    const info = isDone ? { info: json as VariableInfo } : {};
    const operation = {
      kind: "put" as const,
      piece,
      mode,
      ...asked.times,
      ...(ttlMs === undefined ? {} : { ttlMs }),
      ...(status === undefined ? {} : { answer: { status, ...info } }),
    };
    const wrong = mode === "new" ? model.addNew(name, operation) : model.add(name, operation);
    if (wrong !== undefined) this.#wrong.push(`${model.id}: ${wrong}`);
  }

  async #delete(model: ConversationModel, name: string): Promise<void> {
    const { times, status } = await this.#ask(`${model.id}/variables/${name}`, DELETE);
    if (status === 204) this.#options.counts.deletes++;
    const answer = status === undefined ? {} : { answer: { status } };
    model.add(name, { kind: "delete", ...times, ...answer });
  }

  async #reset(model: ConversationModel, keepLast: number): Promise<void> {
    const path = `${model.id}/variables?keepLast=${keepLast}`;
    const { times, status, json } = await this.#ask(path, DELETE);
    if (status === 200) this.#options.counts.resets++;
    const deleted = status === 200 ? (json as { deleted: readonly string[] }).deleted : [];
    const answer = status === undefined ? {} : { answer: { status, deleted } };
    model.addWide({ kind: "reset", keepLast, ...times, ...answer });
  }

  async #end(model: ConversationModel): Promise<void> {
    const { times, status } = await this.#ask(model.id, DELETE);
    if (status === 204) this.#options.counts.ends++;
    const answer = status === undefined ? {} : { answer: { status } };
    model.addWide({ kind: "end", ...times, ...answer });
  }

  async #read(model: ConversationModel, name: string): Promise<void> {
    const beganMs = Date.now();
    try {
      const answer = await readVariable(`${this.#options.url}/conversations/${model.id}`, name);
      const { fromMs: startMs, toMs: endMs } = answer;
      this.#answers++;
      this.#options.counts.reads++;
      model.add(name, { kind: "read", startMs, endMs, latestMs: endMs, answer });
    } catch (error) {
      this.#breaks(error, `GET ${model.id}/${name}`, beganMs);
    }
  }

  #breaks(error: unknown, request: string, startMs: number): void {
    this.#broken.push({ startMs, atMs: Date.now(), request, error });
  }

  async #ask(path: string, init: RequestInit): Promise<Asked> {
    const { url, counts } = this.#options;
    const startMs = Date.now();
    try {
      const response = await fetch(`${url}/conversations/${path}`, init);
      const text = await response.text();
      const json: unknown = text === "" ? undefined : JSON.parse(text);
      const endMs = Date.now();
      this.#answers++;
      const { status } = response;
      if (status >= 400) count(counts.refused, `${status} ${(json as { code?: string }).code}`);
      return { times: { startMs, endMs, latestMs: endMs }, status, json };
    } catch (error) {
      if (init.signal?.aborted !== true) this.#breaks(error, `${init.method} ${path}`, startMs);
      counts.unanswered++;
      // The server may still be running and do what was requested.
      return { times: { startMs, endMs: Infinity, latestMs: Infinity } };
    }
  }
}

type Mix = Readonly<Partial<Record<keyof typeof SORTS, number>>>;

interface Put {
  readonly name: string;
  readonly mode: "replace" | "append" | "new";
  readonly piece: Piece;
  readonly ttlMs?: number;
  /** True to send the body in slices, without a known length. */
  readonly isSlow: boolean;
  /** The client aborts after this time. */
  readonly cutOffMs?: number;
}

interface Asked {
  readonly times: Timed;
  /** Undefined if there was no complete answer. */
  readonly status?: number;
  readonly json?: unknown;
}

const DELETE = { method: "DELETE" };

function slowly(body: Uint8Array): ReadableStream<Uint8Array> {
  const step = Math.max(Math.ceil(body.length / 12), 1);
  let from = 0;
  return new ReadableStream({
    async pull(controller) {
      if (from >= body.length) return controller.close();
      controller.enqueue(body.subarray(from, from + step));
      from += step;
      await sleep(2);
    },
  });
}

/** Returns the code of the underlying socket error, if it has one. */
function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? String(error);
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
