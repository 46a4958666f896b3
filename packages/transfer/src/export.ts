import * as limits from "../../../src/limits.ts";
import { type ConversationData, type contexts, wasDeleted } from "../../../src/internal-edge.ts";
import { transferFilesOf } from "./transfer-files.ts";
import type { EndedTurn, LineOf, TransferRecord } from "./transfer-format.ts";
import type { FileSource } from "./transfer-lines.ts";
import { conflictIn, variableRecords } from "./variable-records.ts";

/**
 * Opens a conversation as the source of a file, which shows it at one moment: if it changes meanwhile, it throws
 * `conflict`, or `conversation_not_found`. A running turn is exported without its answer. `id`: as in the
 * conversation's routes.
 */
export function openConversation(
  context: contexts.ConversationContext,
  source: ConversationData,
  id: string,
): FileSource {
  requireExisting();
  const { store, history, journal, events } = source;
  events.flush();
  const { newestId } = events;
  // What can change without an event.
  const stateOf = () => `${history.lastSeq()} ${source.givenTitle}`;
  const state = stateOf();
  const title = source.givenTitle ?? null;
  const { createdAt } = source.summary;
  return { id, title, createdAt, records: records(), requireUnchanged };

  function requireExisting(): void {
    if (context.data !== source) throw wasDeleted();
  }

  function requireUnchanged(): void {
    requireExisting();
    if (events.newestId !== newestId) throw conflictIn("conversation");
  }

  async function* records(): AsyncGenerator<TransferRecord> {
    for (let one = history.following(0); one !== undefined; one = history.following(one.seq)) {
      yield { type: "message", message: one.message };
    }
    yield* variableRecords(store);
    yield* (context.plans?.exported(source) ?? []) as Iterable<LineOf<"plan" | "run">>;
    yield* turnRecords(journal);
    for (let after: number | undefined = 0; after !== undefined;) {
      const page = events.list({ after, limit: limits.maxPageSize });
      if (page.events.length > 0) yield { type: "events", events: page.events };
      after = page.next;
    }
    yield* transferFilesOf(context)?.records() ?? [];
    if (stateOf() !== state) throw conflictIn("conversation");
  }
}

/** A turn's spend and what waits in it, without its text. A running turn is exported as stopped. */
function* turnRecords(journal: ConversationData["journal"]): Generator<TransferRecord> {
  const head = journal.head();
  if (head === undefined) return;
  const { isOpen, conversation: _, post: __, approvals: ___, lease: _l, trace: _t, ...rest } = head;
  // A copy is of the one who made it.
  const { asker: _asker, paused, ...kept } = rest;
  const { asker: _asked, ...waits } = paused ?? {};
  const left = { ...kept, ...(paused && { paused: waits }), ...(isOpen && { ended: "stopped" }) };
  yield { type: "turn", head: left as EndedTurn };
}
