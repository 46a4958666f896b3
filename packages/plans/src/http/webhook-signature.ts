import { ByrefError } from "../../../../src/errors.ts";
import { encoding } from "../../../../src/internal.ts";

/** The headers of a signed request, as in Standard Webhooks. */
export interface SignedHeaders {
  readonly "webhook-id"?: string | undefined;
  /** Seconds since 1970. */
  readonly "webhook-timestamp"?: string | undefined;
  /** `v1,` and the signature in Base64; several of them, separated by spaces, while a secret changes. */
  readonly "webhook-signature"?: string | undefined;
}

const encoder = new TextEncoder();

/** The address of a webhook: its tenant, and what nobody can guess. */
export function newHook(tenant: string): string {
  return `${tenant}.${encoding.toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
}

/** The tenant whose object knows the webhook, if there is one. Throws as for an unknown webhook. */
export function tenantOfHook({ hook = "" }: Readonly<Record<string, string>>): string {
  const [, tenant] = /^(.{1,256})\.[\da-f]{32}$/su.exec(hook) ?? [];
  if (tenant === undefined) throw notSigned();
  return tenant;
}

export function newSecret(): string {
  return PREFIX + encoding.toBase64(crypto.getRandomValues(new Uint8Array(32)));
}

/** Requires a signature of the request that is new enough. Returns the request's id. Throws `unauthorized`. */
export async function requireSignature(
  secret: string,
  headers: SignedHeaders,
  body: string,
): Promise<string> {
  const { "webhook-id": id = "", "webhook-timestamp": time = "" } = headers;
  const signatures = headers["webhook-signature"]?.split(" ").slice(0, MAX_SIGNATURES) ?? [];
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const bytes = Uint8Array.from(encoding.fromBase64(secret.slice(PREFIX.length)));
  const key = await crypto.subtle.importKey("raw", bytes, hmac, false, ["verify"]);
  // Reading the body dropped a byte order mark, with which it was signed.
  const texts = ["", "\uFEFF"].map((mark) => encoder.encode(`${id}.${time}.${mark}${body}`));
  const isNew = /^\d{1,11}$/u.test(time) && Math.abs(Date.now() / 1_000 - Number(time)) <= WINDOW_S;
  for (const signature of signatures) {
    const [, text] = /^v1,([\w+/]{43}=)$/u.exec(signature) ?? [];
    if (text === undefined) continue;
    // It compares in constant time.
    const verified = texts.map((signed) =>
      crypto.subtle.verify("HMAC", key, encoding.fromBase64(text), signed),
    );
    if ((await Promise.all(verified)).includes(true) && isNew && id !== "") return id;
  }
  throw notSigned();
}

const PREFIX = "whsec_";
const MAX_SIGNATURES = 10;
/** A request is accepted for five minutes before and after its timestamp, in seconds. */
const WINDOW_S = 300;

/** The same for all requests, so that nobody learns which webhooks exist. */
export function notSigned(): ByrefError {
  const message = "There is no such webhook, or the request's signature or time is not valid.";
  return new ByrefError("unauthorized", message);
}
