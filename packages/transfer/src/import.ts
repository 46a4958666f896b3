import { requireAtMost } from "../../../src/errors.ts";
import { VariablesImport } from "./import-variables.ts";
import { badImport, readRecords, type TakenLine, takeEach } from "./transfer-lines.ts";
import type { ConversationData, ConversationPlans } from "../../../src/internal-edge.ts";
import {
  type ConversationEvent,
  spentBefore,
  type StoredMessage,
  type TurnHead,
  variableUrl,
  withoutWaiting,
} from "../../../src/internal-tool.ts";
import { requireFew, type TransferFiles } from "./transfer-files.ts";
import { type OwnRecord, type TransferOf, transferRecord } from "./transfer-format.ts";

export interface ImportOptions {
  /** The data of a new, empty conversation. */
  readonly data: ConversationData;
  /** Undefined in an application without plans: those of the file are then left out. */
  readonly plans: ConversationPlans | undefined;
  /** Undefined without a bucket. */
  readonly files: TransferFiles | undefined;
  /** The new conversation's id. */
  readonly id: string;
  /** True if the file's word on trust and approvals counts. */
  readonly isTrusted: boolean;
}

/** What an import has not kept, or kept because its file says so. */
export interface ImportFinding {
  readonly code: "labels_lowered" | "approvals_withdrawn" | "approvals_cancelled" | "plans_omitted";
  readonly message: string;
}

/**
 * Imports a file into a new conversation. If this rejects, with `bad_import` or the
 * error of a rejected value, the caller must discard what was written. Trust and approvals are imported only
 * from a trusted file; of any other nothing is trusted, and plans wait for approval.
 */
export async function importInto(
  options: ImportOptions,
  body: ReadableStream<Uint8Array>,
): Promise<readonly ImportFinding[]> {
  return new Import(options, body).run();
}

class Import {
  readonly #options: ImportOptions;
  readonly #records: ReturnType<typeof readRecords<OwnRecord>>;
  readonly #variables: VariablesImport;
  #formerId = "";
  #writtenFiles = 0;
  #lowered = 0;
  #cancelled = 0;
  #omitted = 0;

  constructor(options: ImportOptions, body: ReadableStream<Uint8Array>) {
    this.#options = options;
    this.#records = readRecords<OwnRecord>(body, transferRecord);
    this.#variables = new VariablesImport(options.data.store, this.#records);
  }

  async run(): Promise<readonly ImportFinding[]> {
    const { data, plans, isTrusted } = this.#options;
    await takeEach(this.#records, (record) => this.#take(isTrusted ? record : this.#lower(record)));
    this.#variables.end();
    const ended = await plans?.endImport(data, { isTrusted, reason: COPIED });
    const { withdrawn = 0, cancelled = 0 } = ended ?? {};
    const findings = [
      [
        "labels_lowered",
        this.#lowered,
        `values that the file calls trusted are not trusted here. ${KEEP_LABELS}`,
      ],
      [
        "approvals_withdrawn",
        withdrawn,
        `plans that the file calls approved wait for approval. ${KEEP_LABELS}`,
      ],
      [
        "approvals_cancelled",
        this.#cancelled + cancelled,
        "pending approvals are cancelled, because the original may still have them.",
      ],
      [
        "plans_omitted",
        this.#omitted,
        "plans are left out, because this Worker has no planSupport().",
      ],
    ] as const;
    return findings
      .filter(([, count]) => count > 0)
      .map(([code, count, what]) => ({ code, message: `${count} ${what}` }));
  }

  #lower(record: TakenLine<OwnRecord>): TakenLine<OwnRecord> {
    const trusts =
      "info" in record ? record.info.trusted : record.type === "file" && record.trusted;
    if (trusts) this.#lowered++;
    return lowerTrust(record);
  }

  // The casts below remove the schemas' statement that absent fields may be undefined.
  async #take(record: TakenLine<OwnRecord>): Promise<void> {
    const { data, plans } = this.#options;
    switch (record.type) {
      case "byref":
        return this.#begin(record);
      case "message":
        return this.#takeMessage(record.message as StoredMessage);
      case "file":
        return this.#takeFile(record);
      case "plan":
      case "run":
        if (plans === undefined) this.#omitted += record.type === "plan" ? 1 : 0;
        else plans.take(data, record);
        return;
      case "turn":
        return this.#takeTurn(record.head as unknown as TurnHead);
      case "events":
        return data.events.restore(record.events as unknown as ConversationEvent[]);
      default:
        return this.#variables.take(record);
    }
  }

  #begin({ id, title, createdAt }: TransferOf<"byref">): void {
    const { data } = this.#options;
    this.#formerId = id;
    data.setCreated(Date.parse(createdAt));
    if (title !== null) data.setTitle(title);
  }

  /** URLs of stored files are rewritten to this conversation's variables. */
  #takeMessage(message: StoredMessage): void {
    const { data, id } = this.#options;
    const former = variableUrl(this.#formerId, "");
    const parts = message.parts.map((part) => {
      if (part.type !== "file" || !part.url.startsWith(former)) return part;
      return { ...part, url: variableUrl(id, part.url.slice(former.length)) };
    });
    this.#cancelled += Object.keys(message.waiting ?? {}).length;
    data.history.add(withoutWaiting({ ...message, parts }, COPIED));
  }

  async #takeFile(record: TransferOf<"file">): Promise<void> {
    const { files } = this.#options;
    if (files === undefined) throw badImport("It contains files, and no bucket is bound.");
    requireFew(++this.#writtenFiles);
    requireAtMost("maxValueBytes", record.bytes, "No file is as long.");
    await files.write(record, this.#variables.bytes(record.bytes));
  }

  /** The turn no longer waits. Its spend still counts for the conversation. */
  #takeTurn(head: TurnHead): void {
    const { data, id } = this.#options;
    const { needs: _needs, counts: _counts, paused: _paused, ...kept } = head;
    const ended = { ...kept, spent: spentBefore(head), isOpen: false, conversation: id };
    data.journal.begin(ended, "");
  }
}

/**
 * The reason shown for cancelled approvals. A copy has no pending approvals: the original may still have
 * them, and one request could be approved twice. The calls that waited are denied in the copy, its waiting
 * runs are cancelled, and both show this reason.
 */
const COPIED =
  "Cancelled, because this conversation is a copy and the original may still run it. Ask again to run it here.";

const KEEP_LABELS =
  "The file was changed, or written with another TICKET_SECRET, or other keys where none is set; ?labels=keep keeps them.";

/**
 * The record without what only its file says: values and plans are not trusted, and messages count as
 * written by a model that had seen untrusted content. Visibility stays, because a caller may set it.
 */
function lowerTrust(record: TakenLine<OwnRecord>): TakenLine<OwnRecord> {
  switch (record.type) {
    case "variable":
    case "version":
      return { ...record, info: { ...record.info, trusted: false } };
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
