import type { Hono } from "hono/tiny";
import type { AppEnv } from "../app-env.ts";
import type { Described } from "../openapi/document.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { hasSchema, migrate } from "../../store/rows/migrations.ts";
import { firstRow, hasTable, type Sql, textIn } from "../../store/rows/sql.ts";
import type { ConversationContext, TransferParts } from "../conversation-context.ts";
import type { ConversationData, Retention } from "../conversation-data.ts";
import { VariableRequests } from "../variables/variable-requests.ts";
import { exportOf } from "./export.ts";
import { importInto } from "./import.ts";
import { type TransferFiles, transferFilesOf } from "./transfer-files.ts";
import { badImport, streamOf, TransferReader } from "./transfer-lines.ts";

/** What lets conversations be moved: what the Worker serves, and what a conversation does. */
export interface Transfers extends TransferParts {
  routes(): Hono<AppEnv>;
  readonly api: Described;
  requests(context: ConversationContext): TransferRequests;
}

/**
 * A conversation on its way out of its object, or into it (`/transfer/export`, `/transfer/import`); and the
 * parts of a file, which an object of their own keeps as its variables until all are there
 * (`/transfer/parts`). The Worker has checked what it asks for.
 */
export class TransferRequests {
  readonly #context: ConversationContext;

  constructor(context: ConversationContext) {
    this.#context = context;
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
    return transferFilesOf(this.#context.env, this.#context.prefix);
  }

  #export(id: string): Response {
    const context = this.#context;
    context.requireExisting();
    return ndjson(exportOf({ data: () => context.data, files: this.#files, id }));
  }

  async #import(id: string, { body }: Request): Promise<Response> {
    const context = this.#context;
    const incoming = body ?? new Blob().stream();
    if (hasSchema(context.sql)) {
      await incoming.cancel();
      throw new ByrefError("conversation_exists", `There is a conversation ${id} already.`);
    }
    const files = this.#files;
    await context.deletion.arrive(() =>
      importInto({ data: context.newData(), files, id }, incoming),
    );
    context.wake();
    await context.settle();
    return Response.json({ id }, { status: 201 });
  }

  /** In order; one that is sent again takes the place of the first. */
  #takePart(part: number, of: number, request: Request): Promise<Response> {
    const { sql, data } = this.#context;
    const known = partsIn(sql);
    if (known === undefined && part > 1) throw noSuchImport();
    if (known !== undefined && known !== of) {
      throw new ByrefError(
        "bad_request",
        `The first part was one of ${known}, this is one of ${of}.`,
      );
    }
    const next = 1 + (data?.store.count() ?? 0);
    if (part > next) throw new ByrefError("conflict", `Part ${next} comes next.`, { next });
    if (known === undefined) markParts(sql, of);
    return new VariableRequests(this.#context).put(nameOf(part), request);
  }

  /** All of them as one file; the id of its conversation in a header. */
  async #parts(): Promise<Response> {
    const { sql, data } = this.#context;
    const of = partsIn(sql) ?? 0;
    if (data === undefined || data.store.count() < of) throw noSuchImport();
    const reader = new TransferReader(streamOf(bytesOf(data, of)));
    const header = await reader.next();
    await reader.close();
    if (header.type !== "byref") throw badImport("Line 1 is no header.");
    return ndjson(streamOf(bytesOf(data, of)), header.id);
  }
}

const PARTS = "parts";

const PARTS_RETENTION: Retention = {
  quotaBytes: limits.maxTransferBytes,
  variableIdleMs: limits.transferIdleMs,
  conversationIdleMs: limits.transferIdleMs,
};

/** The retention of an object that stores the parts of an import. */
export function retentionIn(sql: Sql): Retention | undefined {
  return partsIn(sql) === undefined ? undefined : PARTS_RETENTION;
}

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
