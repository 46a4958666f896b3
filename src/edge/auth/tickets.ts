import { decode, encode } from "jose/base64url";
import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import type { Settings } from "../settings.ts";

/**
 * Creates a ticket for GET requests of one path, valid for 60 s and any number of uses. It contains the
 * tenant in plain text, and is signed over the tenant, the path and the time. Throws `bad_configuration`
 * without a secret.
 */
export async function newTicket(settings: Settings, tenant: string, path: string): Promise<string> {
  const key = await hmacKey(settings, "ticket");
  if (key === undefined) {
    const message = "TICKET_SECRET must be set: nothing else here could sign a ticket.";
    throw new ByrefError("bad_configuration", message);
  }
  const claim = encode(JSON.stringify([tenant, Date.now() + limits.ticketMs]));
  const signature = await crypto.subtle.sign("HMAC", key, signed(claim, path));
  return `${claim}.${encode(new Uint8Array(signature))}`;
}

/** Returns the ticket's tenant if the ticket is valid for this path now. */
export async function tenantOfTicket(
  settings: Settings,
  ticket: string,
  path: string,
): Promise<string | undefined> {
  const [claim, signature] = /^([\w-]+)\.([\w-]{43})$/.exec(ticket)?.slice(1) ?? [];
  const key = await hmacKey(settings, "ticket");
  if (ticket.length > limits.maxParagraphChars || key === undefined) return undefined;
  if (claim === undefined || signature === undefined) return undefined;
  const isOurs = await crypto.subtle.verify("HMAC", key, decode(signature), signed(claim, path));
  if (!isOurs) return undefined;
  // The signature is valid, so `newTicket` made the claim.
  const text = new TextDecoder().decode(decode(claim));
  const [tenant, endsMs] = JSON.parse(text) as [string, number];
  const leftMs = endsMs - Date.now();
  // A ticket of a clock that was ahead would be valid for longer.
  const longestMs = limits.ticketMs + limits.tokenLeewaySeconds * 1_000;
  return leftMs > 0 && leftMs <= longestMs ? tenant : undefined;
}

const encoder = new TextEncoder();

function signed(claim: string, path: string): Uint8Array {
  return encoder.encode(`${claim} ${path}`);
}

/**
 * The signing key for one purpose. It differs for each `AUTH` mode, so tickets of one mode are invalid in
 * another. Undefined if the settings have no secret.
 */
export async function hmacKey(
  { AUTH, ...settings }: Settings,
  purpose: "ticket" | "export",
): Promise<CryptoKey | undefined> {
  const { TICKET_SECRET, API_KEYS, JWT_SECRET, LOCAL_SECRET = "localhost" } = settings;
  const own = { bearer: JSON.stringify(API_KEYS), jwt: JWT_SECRET, none: LOCAL_SECRET };
  const secret = TICKET_SECRET ?? (AUTH === undefined ? undefined : own[AUTH]);
  if (secret === undefined) return undefined;
  const { subtle } = crypto;
  const base = await subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveKey"]);
  const info = encoder.encode(`byref ${purpose} ${AUTH}`);
  return subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
    base,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign", "verify"],
  );
}
