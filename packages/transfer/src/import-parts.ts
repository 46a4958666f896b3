import { ByrefError } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import {
  type ConversationData,
  type contexts,
  conversations,
  hmacKey,
  putValue,
  type workerSettings,
} from "../../../src/internal-edge.ts";
import { encoding, streamOf } from "../../../src/internal.ts";
import { line, type LineOf } from "./transfer-format.ts";
import { readHeader } from "./transfer-lines.ts";

/** Stores a part of a file as a variable. Parts arrive in order; a part sent again replaces the first. */
export async function storePart(
  context: contexts.ConversationContext,
  part: number,
  request: Request,
): Promise<Response> {
  const count = context.data?.store.count();
  if (count === undefined && part > 1) throw noSuchImport();
  const next = 1 + (count ?? 0);
  if (part > next) throw new ByrefError("conflict", `Send part ${next} next.`, { next });
  const { info } = await putValue(context, { name: nameOf(part), request, options: {} });
  return Response.json(info, { status: 201 });
}

/**
 * Joins the parts into one file. Headers have the id of its conversation, and whether this server has sealed
 * it; that the digest is right, the import checks.
 */
export async function joinParts(context: contexts.ConversationContext): Promise<Response> {
  const { data } = context;
  if (data === undefined) throw noSuchImport();
  const { id } = await readHeader(streamOf(bytesOf(data)));
  const headers = new Headers({ ...NDJSON, "x-byref-id": id });
  const { tenant } = conversations.nameIn(context.state.id.name);
  const tail = await new Response(streamOf(bytesOf(data, MAX_END_CHARS))).text();
  const end = endIn(tail);
  if (tenant !== undefined && end !== undefined) {
    if (await isSeal(context.settings, tenant, end)) headers.set("x-byref-sealed", "yes");
  }
  return new Response(streamOf(bytesOf(data)), { headers });
}

export const NDJSON = { "content-type": "application/x-ndjson; charset=utf-8" };

/** The end line of a file's last characters. Undefined if there is none. */
function endIn(tail: string): LineOf<"end"> | undefined {
  try {
    const { data } = line.safeParse(JSON.parse(tail.trimEnd().split("\n").at(-1) ?? ""));
    return data?.type === "end" ? data : undefined;
  } catch {
    // The import rejects the file.
    return undefined;
  }
}

/** Longer than any end line that this server writes. */
const MAX_END_CHARS = 512;

/** The bytes of all parts, or the last `count` of them. */
async function* bytesOf({ store }: ConversationData, count = Infinity): AsyncGenerator<Uint8Array> {
  const parts = Array.from({ length: store.count() }, (_, index) => nameOf(index + 1));
  const sizes = parts.map((name) => store.info(name)?.bytes ?? 0);
  let skipped = Math.max(sizes.reduce((sum, size) => sum + size, 0) - count, 0);
  for (const [index, bytes] of sizes.entries()) {
    const part = store.open(nameOf(index + 1));
    if (part === undefined) throw noSuchImport();
    try {
      for (let from = skipped; from < bytes; from += limits.maxRecordBytes)
        yield await part.read(from, Math.min(from + limits.maxRecordBytes, bytes));
    } finally {
      part.close();
    }
    skipped = Math.max(skipped - bytes, 0);
  }
}

function nameOf(part: number): string {
  return `part_${part}`;
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
export async function sealOf(settings: workerSettings.Settings, tenant: string, sha256: string) {
  const key = await hmacKey(settings, "export");
  const signed = new TextEncoder().encode(JSON.stringify([tenant, sha256]));
  const seal = key && (await crypto.subtle.sign("HMAC", key, signed));
  return seal && encoding.toHex(new Uint8Array(seal));
}

/** True if a server with these settings sealed the digest for the tenant. */
async function isSeal(
  settings: workerSettings.Settings,
  tenant: string,
  { sha256, seal = "" }: LineOf<"end">,
): Promise<boolean> {
  const expected = await sealOf(settings, tenant, sha256);
  if (expected === undefined) return false;
  // Signatures of both are compared, so that timing reveals nothing about the seal.
  return (await sealOf(settings, tenant, expected)) === (await sealOf(settings, tenant, seal));
}
