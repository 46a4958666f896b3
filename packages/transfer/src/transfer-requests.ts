import { ByrefError } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { badImport, readRecords } from "./transfer-lines.ts";
import {
  type ConversationData,
  conversations,
  hmacKey,
  putValue,
  type Retention,
  type workerSettings,
  type contexts,
} from "../../../src/internal-edge.ts";
import { encoding, sqlRows, streamOf, migrations } from "../../../src/internal.ts";
import { exportOf } from "./export.ts";
import { importInto } from "./import.ts";
import { transferFilesOf } from "./transfer-files.ts";
import { type TransferOf, transferRecord } from "./transfer-format.ts";

/** Exports the conversation. Throws `conversation_not_found`. */
export function exportTo(context: contexts.ConversationContext, id: string): Response {
  context.requireExisting();
  const tenant = conversations.tenantIn(context.state.id.name);
  const sealing = async (sha256: string) =>
    tenant === undefined ? undefined : sealOf(context.settings, tenant, sha256);
  const { plans } = context;
  const files = transferFilesOf(context);
  const file = ndjson(exportOf({ data: () => context.data, plans, files, id, sealing }));
  file.headers.set("content-disposition", `attachment; filename="${id}.ndjson"`);
  return file;
}

/** Imports the body as this conversation. Throws `conversation_exists`, and what `importInto` throws. */
export async function importFrom(
  context: contexts.ConversationContext,
  { id, labels }: { readonly id: string; readonly labels: "keep" | "lower" },
  { body }: Request,
): Promise<Response> {
  const incoming = body ?? new Blob().stream();
  if (migrations.hasSchema(context.sql)) {
    await incoming.cancel();
    throw new ByrefError("conversation_exists", `The conversation ${id} already exists.`);
  }
  const { plans } = context;
  const files = transferFilesOf(context);
  const isTrusted = labels === "keep";
  const findings = await context.deletion.runImport(() =>
    importInto({ data: context.newData(), plans, files, id, isTrusted }, incoming),
  );
  context.wake();
  await context.settle();
  return Response.json({ id, ...(findings.length > 0 && { findings }) }, { status: 201 });
}

/** Stores a part of a file as a variable. Parts arrive in order; a part sent again replaces the first. */
export async function storePart(
  context: contexts.ConversationContext,
  { part, of }: { readonly part: number; readonly of: number },
  request: Request,
): Promise<Response> {
  const { sql, data } = context;
  const known = partsIn(sql);
  if (known === undefined && part > 1) throw noSuchImport();
  if (known !== undefined && known !== of) {
    throw new ByrefError("bad_request", `The first part has of=${known}, this one of=${of}.`);
  }
  const next = 1 + (data?.store.count() ?? 0);
  if (part > next) throw new ByrefError("conflict", `Send part ${next} next.`, { next });
  if (known === undefined) markParts(sql, of);
  const { info } = await putValue(context, { name: nameOf(part), request, options: {} });
  return Response.json(info, { status: 201 });
}

/**
 * Joins the parts into one file. Headers have the id of its conversation, and whether this server has sealed
 * it; that the digest is right, the import checks.
 */
export async function partsFile(context: contexts.ConversationContext): Promise<Response> {
  const { sql, data } = context;
  const of = partsIn(sql) ?? 0;
  if (data === undefined || data.store.count() < of) throw noSuchImport();
  const records = readRecords(streamOf(bytesOf(data, of)), transferRecord);
  const { value } = await records.next();
  await records.return(undefined);
  const header = value?.record;
  if (header?.type !== "byref") throw badImport("Line 1 is no header.");
  const file = ndjson(streamOf(bytesOf(data, of)));
  file.headers.set("x-byref-id", header.id);
  const tenant = conversations.tenantIn(context.state.id.name);
  const end = endIn(await tailOf(data, of));
  if (tenant !== undefined && end !== undefined) {
    const isOurs = await isSeal(context.settings, tenant, end);
    if (isOurs) file.headers.set("x-byref-sealed", "yes");
  }
  return file;
}

/** The end line of a file's last characters. Undefined if there is none. */
function endIn(tail: string): TransferOf<"end"> | undefined {
  const line = tail.trimEnd().split("\n").at(-1) ?? "";
  try {
    const { data } = transferRecord.safeParse(JSON.parse(line));
    return data?.type === "end" ? data : undefined;
  } catch {
    // The import rejects the file.
    return undefined;
  }
}

async function tailOf({ store }: ConversationData, of: number): Promise<string> {
  let tail = "";
  for (let part = of; part > 0 && tail.length < MAX_END_CHARS; part--) {
    const open = store.transfer.open(nameOf(part));
    if (open === undefined) throw noSuchImport();
    try {
      const { bytes } = open.info;
      const read = await open.read(Math.max(0, bytes - MAX_END_CHARS), bytes);
      tail = new TextDecoder().decode(read) + tail;
    } finally {
      open.close();
    }
  }
  return tail;
}

/** Longer than any end line that this server writes. */
const MAX_END_CHARS = 512;

const PARTS = "parts";

const PARTS_RETENTION: Retention = {
  quotaBytes: limits.maxTransferBytes,
  variableIdleMs: limits.idleMs,
  conversationIdleMs: limits.idleMs,
};

/** The retention of an object that stores the parts of an import. */
export function retentionIn(sql: sqlRows.Sql): Retention | undefined {
  return partsIn(sql) === undefined ? undefined : PARTS_RETENTION;
}

/** The number of parts of the file stored here; undefined for a conversation. */
function partsIn(sql: sqlRows.Sql): number | undefined {
  if (!sqlRows.hasTable(sql, "meta")) return undefined;
  const row = sqlRows.firstRow(sql, `SELECT value FROM meta WHERE key = '${PARTS}'`);
  return row === undefined ? undefined : Number(sqlRows.textIn(row, "value"));
}

function markParts(sql: sqlRows.Sql, of: number): void {
  sql.transaction(() => {
    migrations.migrate(sql);
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
      for (let from = 0; from < bytes; from += limits.maxRecordBytes) {
        yield await open.read(from, Math.min(from + limits.maxRecordBytes, bytes));
      }
    } finally {
      open.close();
    }
  }
}

function ndjson(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: { "content-type": "application/x-ndjson; charset=utf-8" },
  });
}

function noSuchImport(): ByrefError {
  const message = "There is no such import, or it has expired. Begin with part 1.";
  return new ByrefError("not_found", message);
}

/**
 * A file's seal: a signature of its digest and its tenant, with a key of this server's settings. A file with
 * it was written by a server with these settings for this tenant, and nobody has changed it. Undefined if the
 * settings have no secret.
 */
async function sealOf(settings: workerSettings.Settings, tenant: string, sha256: string) {
  const key = await hmacKey(settings, "export");
  const seal = key && (await crypto.subtle.sign("HMAC", key, signed(tenant, sha256)));
  return seal && encoding.toHex(new Uint8Array(seal));
}

/** True if a server with these settings sealed the digest for the tenant. */
async function isSeal(
  settings: workerSettings.Settings,
  tenant: string,
  { sha256, seal = "" }: { readonly sha256: string; readonly seal?: string | undefined },
): Promise<boolean> {
  const key = await hmacKey(settings, "export");
  if (key === undefined || !/^[0-9a-f]{64}$/u.test(seal)) return false;
  const bytes = Uint8Array.from(seal.match(/../gu) ?? [], (hex) => Number.parseInt(hex, 16));
  return crypto.subtle.verify("HMAC", key, bytes, signed(tenant, sha256));
}

function signed(tenant: string, sha256: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify([tenant, sha256]));
}
