import { limitExceeded } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { VariablesImport } from "./import-variables.ts";
import { badImport, type TakenLine, TransferReader } from "./transfer-lines.ts";
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
  const reader = new TransferReader<OwnRecord>(body, transferRecord);
  try {
    return await new Import(options, reader).run();
  } finally {
    await reader.close();
  }
}

class Import {
  readonly #data: ConversationData;
  readonly #plans: ConversationPlans | undefined;
  readonly #files: TransferFiles | undefined;
  readonly #id: string;
  readonly #reader: TransferReader<OwnRecord>;
  readonly #variables: VariablesImport;
  #formerId = "";
  #writtenFiles = 0;
  readonly #isTrusted: boolean;
  #lowered = 0;
  #cancelled = 0;
  #omitted = 0;

  constructor(
    { data, plans, files, id, isTrusted }: ImportOptions,
    reader: TransferReader<OwnRecord>,
  ) {
    this.#data = data;
    this.#plans = plans;
    this.#files = files;
    this.#id = id;
    this.#reader = reader;
    this.#isTrusted = isTrusted;
    this.#variables = new VariablesImport(data.store, reader);
  }

  async run(): Promise<readonly ImportFinding[]> {
    await this.#reader.each((record) => this.#take(this.#isTrusted ? record : this.#lower(record)));
    this.#variables.end();
    const ended = { isTrusted: this.#isTrusted, reason: COPIED };
    const plans = await this.#plans?.endImport(this.#data, ended);
    return findingsOf({
      lowered: this.#lowered,
      withdrawn: plans?.withdrawn ?? 0,
      cancelled: this.#cancelled + (plans?.cancelled ?? 0),
      omitted: this.#omitted,
    });
  }

  #lower(record: TakenLine<OwnRecord>): TakenLine<OwnRecord> {
    const trusts =
      "info" in record ? record.info.trusted : record.type === "file" && record.trusted;
    if (trusts) this.#lowered++;
    return lowerTrust(record);
  }

  // The casts below remove the schemas' statement that absent fields may be undefined.
  async #take(record: TakenLine<OwnRecord>): Promise<void> {
    switch (record.type) {
      case "byref":
        return this.#begin(record);
      case "message":
        return this.#takeMessage(record.message as StoredMessage);
      case "file":
        return this.#takeFile(record);
      case "plan":
      case "run":
        if (this.#plans === undefined) this.#omitted += record.type === "plan" ? 1 : 0;
        else this.#plans.take(this.#data, record);
        return;
      case "turn":
        return this.#takeTurn(record.head as unknown as TurnHead);
      case "events":
        return this.#data.events.restore(record.events as unknown as ConversationEvent[]);
      default:
        return this.#variables.take(record);
    }
  }

  #begin({ id, title, createdAt }: TransferOf<"byref">): void {
    this.#formerId = id;
    this.#data.setCreated(Date.parse(createdAt));
    if (title !== null) this.#data.setTitle(title);
  }

  /** URLs of stored files are rewritten to this conversation's variables. */
  #takeMessage(message: StoredMessage): void {
    const former = variableUrl(this.#formerId, "");
    const parts = message.parts.map((part) => {
      if (part.type !== "file" || !part.url.startsWith(former)) return part;
      return { ...part, url: variableUrl(this.#id, part.url.slice(former.length)) };
    });
    this.#cancelled += Object.keys(message.waiting ?? {}).length;
    this.#data.history.add(withoutWaiting({ ...message, parts }, COPIED));
  }

  async #takeFile(record: TransferOf<"file">): Promise<void> {
    if (this.#files === undefined) throw badImport("It contains files, and no bucket is bound.");
    requireFew(++this.#writtenFiles);
    const maximum = limits.maxValueBytes;
    if (record.bytes > maximum) {
      const advice = "No file is as long.";
      throw limitExceeded("maxValueBytes", { maximum, actual: record.bytes, advice });
    }
    await this.#files.write(record, this.#variables.bytes(record.bytes));
  }

  #takeTurn(head: TurnHead): void {
    const ended = { ...endedHead(head), isOpen: false, conversation: this.#id };
    this.#data.journal.begin(ended, "");
  }
}

/**
 * The reason shown for cancelled approvals. A copy has no pending approvals: the original may still have
 * them, and one request could be approved twice. The calls that waited are denied in the copy, its waiting
 * runs are cancelled, and both show this reason.
 */
const COPIED =
  "Cancelled, because this conversation is a copy and the original may still run it. Ask again to run it here.";

/** The head of a turn that no longer waits. Its spend still counts for the conversation. */
function endedHead(head: TurnHead): TurnHead {
  const { needs: _needs, counts: _counts, paused: _paused, ...kept } = head;
  return { ...kept, spent: spentBefore(head) };
}

interface ImportCounts {
  readonly lowered: number;
  readonly withdrawn: number;
  readonly cancelled: number;
  readonly omitted: number;
}

function findingsOf({
  lowered,
  withdrawn,
  cancelled,
  omitted,
}: ImportCounts): readonly ImportFinding[] {
  const advice =
    "The file was changed, or written with another TICKET_SECRET, or other keys where none is set; ?labels=keep keeps them.";
  const findings: ImportFinding[] = [];
  if (lowered > 0) {
    const message = `${lowered} values that the file calls trusted are not trusted here. ${advice}`;
    findings.push({ code: "labels_lowered", message });
  }
  if (withdrawn > 0) {
    const message = `${withdrawn} plans that the file calls approved wait for approval. ${advice}`;
    findings.push({ code: "approvals_withdrawn", message });
  }
  if (cancelled > 0) {
    const message = `${cancelled} pending approvals are cancelled, because the original may still have them.`;
    findings.push({ code: "approvals_cancelled", message });
  }
  if (omitted > 0) {
    const message = `${omitted} plans are left out, because this Worker has no planSupport().`;
    findings.push({ code: "plans_omitted", message });
  }
  return findings;
}

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
