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
  /** Without a bucket there are none. */
  readonly files: TransferFiles | undefined;
  /** As its routes have it. */
  readonly id: string;
}

/**
 * The conversation as a file, made while it is read: one line's worth is held. A file with an end is the
 * conversation as it was at one moment: if it changes meanwhile, an error with the code `conflict` takes the
 * end's place. Of a turn that runs it has what is written down of it: the question, no answer.
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
  /** The conversation as long as nothing in it has changed; throws `conflict`. Whatever is done adds an event. */
  unchanged(): ConversationData;
  /** The same for what adds none: its title, and a message on its way. */
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
    const leaving = store.transfer.open(name);
    if (leaving === undefined) continue;
    try {
      const { info, run, inputDigest } = leaving;
      yield {
        type: "variable",
        info: writable<TransferOf<"variable">["info"]>(info),
        ...compact({ run, inputDigest }),
      };
      // Of a secret it is told that there is one.
      if (info.visibility !== "secret") yield* dataOf(info.bytes, leaving);
    } finally {
      leaving.close();
    }
  }
}

interface Readable {
  read(from: number, to: number): Uint8Array | Promise<Uint8Array>;
}

async function* dataOf(bytes: number, source: Readable): AsyncGenerator<TransferRecord> {
  const step = limits.transferDataBytes;
  // A bucket is not asked for each line of its own.
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
    // Their values one after the other.
    for (const { record } of plans.runsOf(plan.id, 0)) {
      yield { ...writable<TransferOf<"run">>(plans.run(record.id)), type: "run" };
    }
  }
}

/** What has been spent, and what waits; not what was said. One that goes on here has been stopped there. */
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

/** Ours is read-only, the format's is not; nothing is written to either. What does not fit is refused by the reader. */
function writable<Record>(value: unknown): Record {
  return value as Record;
}
