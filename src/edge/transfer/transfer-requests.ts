import type { Hono } from "hono/tiny";
import type { AppEnv } from "../app-env.ts";
import type { Described } from "../openapi/document.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { hasSchema, migrate } from "../../store/rows/migrations.ts";
import { firstRow, hasTable, type Sql, textIn } from "../../store/rows/sql.ts";
import type { ConversationData, Retention } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import { exportOf } from "./export.ts";
import { importInto } from "./import.ts";
import { type TransferFiles, transferFilesOf } from "./transfer-files.ts";
import { badImport, streamOf, TransferReader } from "./transfer-lines.ts";

/** What lets conversations be moved: what the Worker serves, and what a conversation does. */
export interface Transfers {
  routes(): Hono<AppEnv>;
  readonly api: Described;
  requests(options: TransferOptions): TransferRequests;
}

export interface TransferOptions {
  readonly env: Cloudflare.Env;
  /** What all keys of the conversation in the bucket begin with. */
  readonly prefix: string;
  readonly sql: Sql;
  readonly deletion: Deletion;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Data that nobody else sees. */
  readonly fresh: () => ConversationData;
  /** From now on everybody sees it. */
  readonly wake: () => ConversationData;
  readonly settle: () => Promise<void>;
  readonly putVariable: (name: string, request: Request) => Promise<Response>;
}

/**
 * A conversation on its way out of its object, or into it (`/transfer/export`, `/transfer/import`); and the
 * parts of a file, which an object of their own keeps as its variables until all are there
 * (`/transfer/parts`). The Worker has checked what it asks for.
 */
export class TransferRequests {
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** What is kept of a file's parts goes when no more of them come; of a conversation, when `given` says. */
  retention(given: Retention): Retention {
    return partsIn(this.#options.sql) === undefined ? given : PARTS_RETENTION;
  }

  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get("id") ?? "";
    if (pathname.endsWith("/export")) return this.#export(id);
    if (pathname.endsWith("/import")) return this.#import(id, request);
    if (request.method !== "PUT") return this.#parts();
    return this.#takePart(
      Number(searchParams.get("part")),
      Number(searchParams.get("of")),
      request,
    );
  }

  get #files(): TransferFiles | undefined {
    return transferFilesOf(this.#options.env, this.#options.prefix);
  }

  #export(id: string): Response {
    const { data } = this.#options;
    if (data() === undefined) {
      throw new ByrefError("conversation_not_found", "There is no such conversation.");
    }
    return ndjson(exportOf({ data, files: this.#files, id }));
  }

  async #import(id: string, { body }: Request): Promise<Response> {
    const { sql, deletion, fresh, wake, settle } = this.#options;
    const incoming = body ?? new Blob().stream();
    if (hasSchema(sql)) {
      await incoming.cancel();
      throw new ByrefError("conversation_exists", `There is a conversation ${id} already.`);
    }
    await deletion.arrive(() => importInto({ data: fresh(), files: this.#files, id }, incoming));
    wake();
    await settle();
    return Response.json({ id }, { status: 201 });
  }

  /** In order; one that is sent again takes the place of the first. */
  #takePart(part: number, of: number, request: Request): Promise<Response> {
    const { sql, data, putVariable } = this.#options;
    const known = partsIn(sql);
    if (known === undefined && part > 1) throw noSuchImport();
    if (known !== undefined && known !== of) {
      throw new ByrefError(
        "bad_request",
        `The first part was one of ${known}, this is one of ${of}.`,
      );
    }
    const next = 1 + (data()?.store.count() ?? 0);
    if (part > next) throw new ByrefError("conflict", `Part ${next} comes next.`, { next });
    if (known === undefined) markParts(sql, of);
    return putVariable(nameOf(part), request);
  }

  /** All of them as one file; the id of its conversation in a header. */
  async #parts(): Promise<Response> {
    const { sql, data } = this.#options;
    const of = partsIn(sql) ?? 0;
    const found = data();
    if (found === undefined || found.store.count() < of) throw noSuchImport();
    const reader = new TransferReader(streamOf(bytesOf(found, of)));
    const header = await reader.next();
    await reader.close();
    if (header.type !== "byref") throw badImport("Line 1 is no header.");
    return ndjson(streamOf(bytesOf(found, of)), header.id);
  }
}

const PARTS = "parts";

const PARTS_RETENTION: Retention = {
  quotaBytes: limits.maxTransferBytes,
  variableIdleMs: limits.transferIdleMs,
  conversationIdleMs: limits.transferIdleMs,
};

/** Of how many parts the file has that is kept here; undefined for a conversation. */
function partsIn(sql: Sql): number | undefined {
  if (!hasTable(sql, "meta")) return undefined;
  const row = firstRow(sql, `SELECT value FROM meta WHERE key = '${PARTS}'`);
  return row === undefined ? undefined : Number(textIn(row, "value"));
}

function markParts(sql: Sql, of: number): void {
  sql.transaction(() => {
    migrate(sql);
    sql.run(`INSERT INTO meta (key, value) VALUES ('${PARTS}', ?)`, String(of));
  });
}

function nameOf(part: number): string {
  return `part_${part}`;
}

async function* bytesOf({ store }: ConversationData, of: number): AsyncGenerator<Uint8Array> {
  for (let part = 1; part <= of; part++) {
    const open = store.transfer.open(nameOf(part));
    if (open === undefined) throw noSuchImport();
    try {
      const { bytes } = open.info;
      for (let from = 0; from < bytes; from += limits.maxChunkBytes) {
        yield await open.read(from, Math.min(from + limits.maxChunkBytes, bytes));
      }
    } finally {
      open.close();
    }
  }
}

function ndjson(body: ReadableStream<Uint8Array>, id?: string): Response {
  const headers = { "content-type": "application/x-ndjson; charset=utf-8" };
  return new Response(body, {
    headers: id === undefined ? headers : { ...headers, "x-byref-id": id },
  });
}

function noSuchImport(): ByrefError {
  return new ByrefError(
    "import_not_found",
    "There is no such import, or not any more: begin with part 1.",
  );
}
