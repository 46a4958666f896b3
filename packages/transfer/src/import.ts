import { requireAtMost } from "../../../src/errors.ts";
import type { contexts } from "../../../src/internal-edge.ts";
import {
  spentBefore,
  type StoredMessage,
  variableUrl,
  withoutWaiting,
} from "../../../src/internal-tool.ts";
import { transferFilesOf } from "./transfer-files.ts";
import type { EndedTurn, TransferRecord } from "./transfer-format.ts";
import { badImport, type ReadBytes, readFile } from "./transfer-lines.ts";
import { restoreVariable } from "./variable-records.ts";

const KEEP_LABELS =
  "The file was changed, or written with another TICKET_SECRET, or other keys where none is set; ?labels=keep keeps them.";

/** What an import has not kept as its file says. */
const FINDINGS = [
  ["labels_lowered", `values that the file calls trusted are not trusted here. ${KEEP_LABELS}`],
  ["approvals_withdrawn", `plans that the file calls approved wait for approval. ${KEEP_LABELS}`],
  [
    "approvals_cancelled",
    "pending approvals are cancelled, because the original may still have them.",
  ],
  ["plans_omitted", "plans are left out, because this Worker has no planSupport()."],
] as const;
type FindingCode = (typeof FINDINGS)[number][0];

export interface ImportFinding {
  readonly code: FindingCode;
  readonly message: string;
}

/**
 * Imports a file into a new conversation, of this id. If this rejects, with `bad_import` or the
 * error of a rejected value, the caller must discard what was written. Trust and approvals are imported only
 * if the file is trusted; of any other nothing is trusted, and plans wait for approval.
 */
export async function importInto(
  context: contexts.ConversationContext,
  { id, isTrusted }: { readonly id: string; readonly isTrusted: boolean },
  body: ReadableStream<Uint8Array>,
): Promise<readonly ImportFinding[]> {
  const { plans } = context;
  const data = context.newData();
  const files = transferFilesOf(context);
  let formerId = "";
  let writtenFiles = 0;
  const counts = new Map<FindingCode, number>();
  const count = (code: FindingCode, added: number) =>
    counts.set(code, (counts.get(code) ?? 0) + added);
  await readFile(body, (record, bytes) => {
    if (isTrusted) return take(record, bytes);
    const trusts =
      "info" in record ? record.info.trusted : record.type === "file" && record.trusted;
    count("labels_lowered", trusts ? 1 : 0);
    return take(lowerTrust(record), bytes);
  });
  const ended = await plans?.endImport(data, { isTrusted, reason: COPIED });
  count("approvals_withdrawn", ended?.withdrawn ?? 0);
  count("approvals_cancelled", ended?.cancelled ?? 0);
  return FINDINGS.flatMap(([code, what]) => {
    const found = counts.get(code) ?? 0;
    return found > 0 ? { code, message: `${found} ${what}` } : [];
  });

  async function take(record: TransferRecord, bytes: ReadBytes): Promise<void> {
    switch (record.type) {
      case "byref":
        formerId = record.id;
        data.setCreated(Date.parse(record.createdAt));
        if (record.title !== null) data.setTitle(record.title);
        return;
      case "message":
        return takeMessage(record.message);
      case "file":
        if (files === undefined) throw badImport("It contains files, and no bucket is bound.");
        requireAtMost("maxFiles", ++writtenFiles, "Delete some of the conversation's files.");
        requireAtMost("maxValueBytes", record.bytes, "No file is as long.");
        return files.write(record, bytes(record.bytes));
      case "plan":
      case "run":
        if (plans !== undefined) plans.take(data, record);
        else count("plans_omitted", record.type === "plan" ? 1 : 0);
        return;
      case "turn":
        return takeTurn(record.head);
      case "events":
        return data.events.restore(record.events);
      default:
        return restoreVariable(data.store, record, bytes);
    }
  }

  /** URLs of stored files are rewritten to this conversation's variables. */
  function takeMessage(message: StoredMessage): void {
    const former = variableUrl(formerId, "");
    const parts = message.parts.map((part) => {
      if (part.type !== "file" || !part.url.startsWith(former)) return part;
      return { ...part, url: variableUrl(id, part.url.slice(former.length)) };
    });
    count("approvals_cancelled", Object.keys(message.waiting ?? {}).length);
    data.history.add(withoutWaiting({ ...message, parts }, COPIED));
  }

  /** The turn no longer waits. Its spend still counts for the conversation. */
  function takeTurn(head: EndedTurn): void {
    const { needs: _needs, counts: _counts, paused: _paused, ...kept } = head;
    const ended = { isOpen: false, conversation: id };
    data.journal.begin({ ...kept, ...ended, spent: spentBefore(head) }, "");
  }
}

/**
 * The reason shown for cancelled approvals. A copy has no pending approvals: the original may still have
 * them, and one request could be approved twice. The calls that waited are denied in the copy, its waiting
 * runs are cancelled, and both show this reason.
 */
const COPIED =
  "Cancelled, because this conversation is a copy and the original may still run it. Ask again to run it here.";

/**
 * The record without what only its file says: values and plans are not trusted, and messages count as
 * written by a model that had seen untrusted content. Visibility stays, because a caller may set it.
 */
function lowerTrust(record: TransferRecord): TransferRecord {
  switch (record.type) {
    case "variable":
    case "version":
      return { ...record, info: { ...record.info, trusted: false } };
    case "tombstone": {
      // A call that only its file says was made is not made again.
      const { isRepeatable: _, ...tombstone } = record.tombstone;
      return { ...record, tombstone };
    }
    case "file":
      return { ...record, trusted: false };
    case "message":
      return { ...record, message: { ...record.message, tainted: true } };
    case "plan":
      return { ...record, plan: { ...record.plan, tainted: true } };
    default:
      return record;
  }
}
