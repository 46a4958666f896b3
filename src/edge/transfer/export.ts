import { compact } from "../../value/json.ts";
import { ByrefError, codeOf, publicMessageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { toBase64 } from "../../value/base64.ts";
import type { ConversationData } from "../conversation-data.ts";
import { plansOf } from "../plans/plans-of.ts";
import type { TransferFiles } from "./transfer-files.ts";
import { TRANSFER_VERSION, type TransferOf, type TransferRecord } from "./transfer-format.ts";
import { transferLines } from "./transfer-lines.ts";

export interface ExportOptions {
  /** Undefined when the conversation was deleted. */
  readonly data: () => ConversationData | undefined;
  /** Undefined without a bucket. */
  readonly files: TransferFiles | undefined;
  /** The conversation's id in its routes. */
  readonly id: string;
}

/**
 * Exports the conversation as a file, created while it is read; one line is held in memory. A complete file
 * shows the conversation at one moment: if it changes meanwhile, the last line is an error with the code
 * `conflict`. A running turn is exported without its answer.
 */
export function exportOf(options: ExportOptions): ReadableStream<Uint8Array> {
  return transferLines(recordsOf(options), (error) => ({
    type: "error",
    code: codeOf(error),
    message: publicMessageOf(error),
  }));
}

async function* recordsOf({ data, files, id }: ExportOptions): AsyncGenerator<TransferRecord> {
  const guard = changeGuard(data);
  const source = guard.unchanged();
  source.events.flush();
  const { createdAt } = source.summary;
  yield {
    type: "byref",
    version: TRANSFER_VERSION,
    id,
    title: source.givenTitle ?? null,
    createdAt,
  };
  for (const records of [messages, variables, names, plans, turn, events]) {
    for await (const record of records(source)) {
      yield record;
      guard.unchanged();
    }
  }
  if (files !== undefined) yield* filesOf(files);
  guard.end();
}

interface ChangeGuard {
  /**
   * Returns the conversation while nothing in it has changed; otherwise throws `conflict`. Most changes add
   * an event.
   */
  unchanged(): ConversationData;
  /** Also checks what adds no event: the title, and new messages. */
  end(): void;
}

function changeGuard(data: () => ConversationData | undefined): ChangeGuard {
  const source = data();
  if (source === undefined) throw changed();
  const stateOf = ({ history, givenTitle }: ConversationData) =>
    `${history.lastSeq()} ${givenTitle}`;
  const state = stateOf(source);
  const { newestId } = source.events;
  const unchanged = () => {
    if (data() === source && source.events.newestId === newestId) return source;
    throw changed();
  };
  return {
    unchanged,
    end() {
      if (stateOf(unchanged()) !== state) throw changed();
    },
  };
}

function changed(): ByrefError {
  return new ByrefError("conflict", "The conversation has changed meanwhile; try again.");
}

function* messages({ history }: ConversationData): Generator<TransferRecord> {
  for (let one = history.following(0); one !== undefined; one = history.following(one.seq)) {
    yield { type: "message", message: writable<TransferOf<"message">["message"]>(one.message) };
  }
}

async function* variables({ store }: ConversationData): AsyncGenerator<TransferRecord> {
  for (const name of store.transfer.names()) {
    const opened = store.transfer.open(name);
    if (opened === undefined) continue;
    try {
      const { info, run, inputDigest } = opened;
      yield {
        type: "variable",
        info: writable<TransferOf<"variable">["info"]>(info),
        ...compact({ run, inputDigest }),
      };
      // A secret is exported without its value.
      if (info.visibility !== "secret") yield* dataOf(info.bytes, opened);
    } finally {
      opened.close();
    }
    if (opened.info.visibility !== "secret") yield* versions(store, name);
  }
}

async function* versions(
  store: ConversationData["store"],
  name: string,
): AsyncGenerator<TransferRecord> {
  const all = store.transfer.versions(name);
  try {
    for (const { info, undone, read } of all) {
      const written = writable<TransferOf<"version">["info"]>(info);
      yield { type: "version", info: written, ...compact({ undone }) };
      yield* dataOf(info.bytes, { read });
    }
  } finally {
    for (const one of all) one.close();
  }
}

interface Readable {
  read(from: number, to: number): Uint8Array | Promise<Uint8Array>;
}

async function* dataOf(bytes: number, source: Readable): AsyncGenerator<TransferRecord> {
  const step = limits.transferDataBytes;
  // One read of the bucket serves several lines.
  const readStep = step * LINES_PER_READ;
  for (let from = 0; from < bytes; from += readStep) {
    const read = await source.read(from, Math.min(from + readStep, bytes));
    for (let at = 0; at < read.length; at += step) {
      yield { type: "data", base64: toBase64(read.subarray(at, at + step)) };
    }
  }
}

const LINES_PER_READ = 10;

function* names({ store }: ConversationData): Generator<TransferRecord> {
  const { tombstones, numbers } = store.transfer.nameRecords();
  for (const tombstone of tombstones) {
    yield {
      type: "tombstone",
      tombstone: writable<TransferOf<"tombstone">["tombstone"]>(tombstone),
    };
  }
  yield { type: "numbers", numbers: { ...numbers } };
}

function* plans(data: ConversationData): Generator<TransferRecord> {
  const plans = plansOf(data);
  for (const id of plans.ids()) {
    const plan = plans.required(id);
    yield { type: "plan", plan: writable<TransferOf<"plan">["plan"]>(plan) };
    // Their values are loaded one run at a time.
    for (const { record } of plans.runsOf(plan.id, 0)) {
      yield { ...writable<TransferOf<"run">>(plans.run(record.id)), type: "run" };
    }
  }
}

/** A turn's spend and what waits in it, without its text. A running turn is exported as stopped. */
function* turn({ journal }: ConversationData): Generator<TransferRecord> {
  const head = journal.head();
  if (head === undefined) return;
  const { isOpen, conversation: _, post: __, approvals: ___, lease: _l, trace: _t, ...kept } = head;
  const left = isOpen ? { ...kept, ended: "stopped" } : kept;
  yield { type: "turn", head: writable<TransferOf<"turn">["head"]>(left) };
}

function* events({ events }: ConversationData): Generator<TransferRecord> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const page = events.list({ after, limit: limits.maxPageSize });
    const { events: listed } = page;
    if (listed.length > 0) {
      yield { type: "events", events: writable<TransferOf<"events">["events"]>(listed) };
    }
    after = page.next;
  }
}

async function* filesOf(files: TransferFiles): AsyncGenerator<TransferRecord> {
  for (const path of await files.paths()) {
    const file = await files.open(path);
    if (file === undefined) continue;
    yield file.record;
    yield* dataOf(file.record.bytes, file);
  }
}

/**
 * Casts from read-only types to those of the format. Neither is written to, and the reader rejects invalid
 * records.
 */
function writable<Record>(value: unknown): Record {
  return value as Record;
}
