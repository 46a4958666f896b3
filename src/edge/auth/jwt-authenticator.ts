import { jwtVerify } from "jose/jwt/verify";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Settings } from "../settings.ts";
import { type Authenticator, unauthorized } from "./authenticator.ts";
import * as z from "zod";
import { compact } from "../../value/json.ts";
import { withTimeLimit } from "../../value/deadline.ts";

/**
 * The authenticator for `AUTH=jwt`. The token's signature, issuer and audience must match the settings, and
 * the token must have an expiry time. The claim named by `JWT_TENANT_CLAIM` is the tenant, `sub` the principal.
 *
 * The key determines the algorithm, never the token: HS256 for `JWT_SECRET`; for a public key, the algorithm
 * that its issuer names.
 */
export const jwtAuthenticator: Authenticator = async (request, settings) => {
  const header = request.headers.get("authorization") ?? "";
  const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
  if (token === undefined || token.length > limits.maxTokenChars) {
    throw unauthorized("Send a token: Authorization: Bearer <JWT>.");
  }
  const claims = await verifiedClaims(token, settings);
  if (settings.JWT_AUDIENCE === undefined && claims.aud !== undefined) {
    throw unauthorized("The token has an audience, and JWT_AUDIENCE is not set.");
  }
  const name = settings.JWT_TENANT_CLAIM ?? "";
  const tenant = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const { sub } = claims;
  const principal = typeof sub === "string" ? sub : undefined;
  if (typeof tenant === "string") return { tenant, ...compact({ principal }), claims };
  throw unauthorized(`The token has no claim ${name} that is a string.`);
};

type Claims = Readonly<Record<string, unknown>>;

/** Throws one error for every invalid token: details would help an attacker who forged it. */
async function verifiedClaims(token: string, settings: Settings): Promise<Claims> {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: url } = settings;
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      ({ kid }) => keyFor(kid, settings),
      {
        algorithms: url === undefined ? ["HS256"] : [...PUBLIC_KEY_ALGORITHMS],
        requiredClaims: ["exp"],
        clockTolerance: limits.tokenLeewaySeconds,
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      },
    );
    if (isTokenType(protectedHeader.typ) && hasValidTimes(payload)) return payload;
  } catch (error) {
    if (codeOf(error) === "keys_unavailable") throw error;
  }
  throw unauthorized("The token is not valid.");
}

async function keyFor(id: unknown, settings: Settings): Promise<Uint8Array | PublicKey> {
  const { JWT_SECRET = "", JWT_JWKS_URL } = settings;
  if (JWT_JWKS_URL === undefined) return new TextEncoder().encode(JWT_SECRET);
  const key = typeof id === "string" ? await keysAt(JWT_JWKS_URL).find(id) : undefined;
  if (key === undefined) throw unauthorized("The token's key is unknown.");
  return key;
}

let known: { readonly url: string; readonly keys: PublicKeys } | undefined;

function keysAt(url: string): PublicKeys {
  if (known?.url !== url) known = { url, keys: new PublicKeys(url) };
  return known.keys;
}

/** True for the `typ` values of access tokens, and for none. */
function isTokenType(type: unknown): boolean {
  return type === undefined || type === "JWT" || type === "at+jwt";
}

/** Checks what `jwtVerify` does not: infinite times, and an `iat` in the future. */
function hasValidTimes({ exp, nbf, iat }: Claims): boolean {
  const isFinite = [exp, nbf, iat].every((time) => time === undefined || Number.isFinite(time));
  return isFinite && !(Number(iat) > Date.now() / 1_000 + limits.tokenLeewaySeconds);
}

/** A public key, and the one algorithm that it verifies. */
export type PublicKey = z.infer<typeof publicJwk> & { readonly alg: string };

const FRESH_MS = 600_000;
/** How long keys stay valid while their issuer cannot be reached. */
const STALE_MS = 3_600_000;
/** The shortest time between two fetches, regardless of the tokens received. */
const RETRY_MS = 10_000;
const FETCH_MS = 5_000;

/** Algorithms by kind of key; the first is the default. Shared secrets are not public keys. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  "EC P-256": ["ES256"],
  "EC P-384": ["ES384"],
  "OKP Ed25519": ["EdDSA"],
};

const PUBLIC_KEY_ALGORITHMS: readonly string[] = Object.values(ALGORITHMS).flat();

/** The members needed for verification: no private part, no other use. */
const publicJwk = z.object({
  kid: z.string().min(1),
  kty: z.enum(["RSA", "EC", "OKP"]),
  use: z.literal("sig").exactOptional(),
  alg: z.string().exactOptional(),
  n: z.string().exactOptional(),
  e: z.string().exactOptional(),
  crv: z.string().exactOptional(),
  x: z.string().exactOptional(),
  y: z.string().exactOptional(),
});

const keySet = z.object({ keys: z.array(z.unknown()).max(limits.maxJwksKeys) });

type Keys = ReadonlyMap<string, PublicKey>;

/** The keys of one issuer, cached for the lifetime of the isolate. */
export class PublicKeys {
  readonly #url: string;
  #keys: Keys = new Map();
  #fetchedMs = Number.NEGATIVE_INFINITY;
  /** The earliest time of the next fetch. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns undefined if the issuer has no such key. Throws `keys_unavailable`. */
  async find(id: string): Promise<PublicKey | undefined> {
    const now = Date.now();
    const found = this.#keys.get(id);
    if (found !== undefined && now - this.#fetchedMs < FRESH_MS) return found;
    if (now >= this.#nextMs) await this.#fetch(now);
    if (this.#isUsable(now)) return this.#keys.get(id);
    const message = "The keys for verifying tokens are not available; try again later.";
    throw new ByrefError("keys_unavailable", message);
  }

  #isUsable(now: number): boolean {
    return now - this.#fetchedMs < STALE_MS;
  }

  async #fetch(now: number): Promise<void> {
    // During the fetch, other requests use the cached keys, or fetch too if there are none: a request must
    // not wait for another request's fetch, which may be cancelled.
    if (this.#isUsable(now)) this.#nextMs = now + RETRY_MS;
    try {
      this.#keys = await withTimeLimit(FETCH_MS, (signal) => fetchKeys(this.#url, signal));
      this.#fetchedMs = now;
    } catch (error) {
      console.error(`JWT_JWKS_URL: ${messageOf(error)}`);
    }
    this.#nextMs = now + RETRY_MS;
  }
}

async function fetchKeys(url: string, signal: AbortSignal): Promise<Keys> {
  const headers = { accept: "application/json" };
  // The target of a redirect is not the configured URL.
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) throw new Error(`The answer is ${response.status}.`);
  const { keys } = keySet.parse(JSON.parse(await textOf(response)));
  return new Map(keys.flatMap((key) => entryOf(key)));
}

/** Returns nothing for a key with another use or an unknown algorithm. */
function entryOf(key: unknown): readonly (readonly [id: string, key: PublicKey])[] {
  const { data: jwk } = publicJwk.safeParse(key);
  if (jwk === undefined) return [];
  const kind = jwk.kty === "RSA" ? jwk.kty : `${jwk.kty} ${jwk.crv}`;
  const algorithms = ALGORITHMS[kind] ?? [];
  const alg = algorithms.find((name) => name === (jwk.alg ?? name));
  return alg === undefined ? [] : [[jwk.kid, { ...jwk, alg }]];
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > limits.maxJwksBytes)
      throw new Error(`The answer is longer than ${limits.maxJwksBytes} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}
