import { hmacKey, type Settings } from "../../../src/internal-edge.ts";
import { encoding } from "../../../src/internal.ts";

/**
 * A file's seal: a signature of its digest and its tenant, with a key of this server's settings. A file with
 * it was written by a server with these settings for this tenant, and nobody has changed it. Undefined if the
 * settings have no secret.
 */
export async function sealOf(
  settings: Settings,
  tenant: string,
  sha256: string,
): Promise<string | undefined> {
  const key = await hmacKey(settings, "export");
  if (key === undefined) return undefined;
  return encoding.toHex(
    new Uint8Array(await crypto.subtle.sign("HMAC", key, signed(tenant, sha256))),
  );
}

/** True if a server with these settings sealed the digest for the tenant. */
export async function isSeal(
  settings: Settings,
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
