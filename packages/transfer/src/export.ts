import { ByrefError } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { dataLines, variableLines, writable } from "./export-variables.ts";
import { type Sealing, transferLines } from "./transfer-lines.ts";
import { TRANSFER_VERSION } from "./variable-records.ts";
import { type ConversationData, wasDeleted, type contexts } from "../../../src/internal-edge.ts";
import type { TransferFiles } from "./transfer-files.ts";
import type { TransferOf, TransferRecord } from "./transfer-format.ts";

export interface ExportOptions {
  /** Undefined when the conversation was deleted. */
  readonly data: () => ConversationData | undefined;
  /** Undefined in an application without plans: then the file has none. */
  readonly plans: contexts.ConversationPlans | undefined;
  /** Undefined without a bucket. */
  readonly files: TransferFiles | undefined;
  /** The conversation's id in its routes. */
  readonly id: string;
  readonly sealing: Sealing;
}

/**
 * Exports the conversation as a file, created while it is read; one line is held in memory. A complete file
 * shows the conversation at one moment: if it changes meanwhile, the last line is an error with the code
 * `conflict`, or `conversation_not_found`. A running turn is exported without its answer.
 */
export function exportOf(options: ExportOptions): ReadableStream<Uint8Array> {
  return transferLines(recordsOf(options), options.sealing);
}

async function* recordsOf({
  data,
  plans,
  files,
  id,
}: ExportOptions): AsyncGenerator<TransferRecord | contexts.PlanLine> {
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
  const variables = ({ store }: ConversationData) => variableLines(store);
  const planLines = (from: ConversationData) => plans?.exported(from) ?? [];
  for (const records of [messages, variables, planLines, turn, events]) {
    for await (const record of records(source)) {
      yield record;
      guard.unchanged();
    }
  }
  if (files !== undefined) yield* filesOf(files);
  guard.end();
}

/**
 * `unchanged` returns the conversation while nothing in it has changed; otherwise it throws `conflict`, or
 * `conversation_not_found` if it was deleted. Most changes add an event; `end` also checks what adds none: the title,
 * and new messages.
 */
function changeGuard(data: () => ConversationData | undefined) {
  const source = data();
  if (source === undefined) throw wasDeleted();
  const stateOf = ({ history, givenTitle }: ConversationData) =>
    `${history.lastSeq()} ${givenTitle}`;
  const state = stateOf(source);
  const { newestId } = source.events;
  const unchanged = () => {
    if (data() !== source) throw wasDeleted();
    if (source.events.newestId === newestId) return source;
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
  return new ByrefError("conflict", "The conversation changed in the meantime; try again.");
}

function* messages({ history }: ConversationData): Generator<TransferRecord> {
  for (let one = history.following(0); one !== undefined; one = history.following(one.seq)) {
    yield { type: "message", message: writable<TransferOf<"message">["message"]>(one.message) };
  }
}

/** A turn's spend and what waits in it, without its text. A running turn is exported as stopped. */
function* turn({ journal }: ConversationData): Generator<TransferRecord> {
  const head = journal.head();
  if (head === undefined) return;
  const { isOpen, conversation: _, post: __, approvals: ___, lease: _l, trace: _t, ...rest } = head;
  // A copy is of the one who made it.
  const { asker: _asker, paused, ...kept } = rest;
  const { asker: _asked, ...waits } = paused ?? {};
  const left = {
    ...kept,
    ...(paused && { paused: waits }),
    ...(isOpen && { ended: "stopped" }),
  };
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
    yield* dataLines(file.record.bytes, file);
  }
}
