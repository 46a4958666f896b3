import type { CryptoKey, JWTHeaderParameters } from "jose";
import { createRemoteJWKSet } from "jose/jwks/remote";
import { jwtVerify } from "jose/jwt/verify";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Settings } from "../settings.ts";
import { type Authenticator, unauthorized } from "./authenticator.ts";
import { compact } from "../../value/json.ts";

/**
 * The authenticator for `AUTH=jwt`. The token's signature, issuer and audience must match the settings, and
 * the token must have an expiry time. The claim named by `JWT_TENANT_CLAIM` is the tenant, `sub` the principal.
 *
 * A token cannot choose another kind of key: HS256 is for `JWT_SECRET` only. A public key verifies the algorithm
 * that its issuer names, or those of its type if it names none.
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
      (header) =>
        url === undefined ? new TextEncoder().encode(settings.JWT_SECRET) : publicKey(url, header),
      {
        algorithms: url === undefined ? ["HS256"] : PUBLIC_KEY_ALGORITHMS,
        requiredClaims: ["exp"],
        clockTolerance: limits.tokenLeewaySeconds,
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      },
    );
    // Access tokens have one of these types, or none.
    const isAccessToken = [undefined, "JWT", "at+jwt"].includes(protectedHeader.typ);
    if (isAccessToken && hasValidTimes(payload)) return payload;
  } catch (error) {
    if (codeOf(error) === "unavailable") throw error;
  }
  throw unauthorized("The token is not valid.");
}

/** Checks what `jwtVerify` does not: infinite times, and an `iat` in the future. */
function hasValidTimes({ exp, nbf, iat }: Claims): boolean {
  const isFinite = [exp, nbf, iat].every((time) => time === undefined || Number.isFinite(time));
  return isFinite && !(Number(iat) > Date.now() / 1_000 + limits.tokenLeewaySeconds);
}

const FRESH_MS = 600_000;
/** How long keys stay valid while their issuer cannot be reached. */
const STALE_MS = 3_600_000;
/** The shortest time between two fetches, regardless of the tokens received. */
const RETRY_MS = 10_000;
const FETCH_MS = 5_000;

/** The algorithms of public keys. Shared secrets are not public keys. */
const PUBLIC_KEY_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "EdDSA",
];

interface IssuerKeys {
  readonly url: string;
  readonly remote: ReturnType<typeof createRemoteJWKSet>;
  fetchedMs: number;
  /** The earliest time of the next fetch. */
  nextMs: number;
}

/** The issuer's keys, cached for the lifetime of the isolate. */
let known: IssuerKeys | undefined;

/** Throws if the issuer has no such key. Throws `unavailable`. */
async function publicKey(url: string, header: JWTHeaderParameters): Promise<CryptoKey> {
  const { kid } = header;
  // Without an id, a token could be tried with any key.
  if (typeof kid !== "string" || kid === "") throw unauthorized("The token names no key.");
  if (known?.url !== url) known = keysAt(url);
  const keys = known;
  const { remote } = keys;
  const isKnown = remote.jwks()?.keys.some((key) => key.kid === kid) ?? false;
  const now = Date.now();
  const isDue = !isKnown || now - keys.fetchedMs >= FRESH_MS;
  if (isDue && now >= keys.nextMs) {
    // During the fetch, other requests use the cached keys, or fetch too if there are none: a request must
    // not wait for another request's fetch, which may be cancelled.
    if (remote.fresh) keys.nextMs = now + RETRY_MS;
    try {
      await remote.reload();
      keys.fetchedMs = now;
    } catch (error) {
      console.error(`JWT_JWKS_URL: ${messageOf(error)}`);
    }
    keys.nextMs = now + RETRY_MS;
  }
  if (remote.fresh) return remote(header);
  const message = "The keys for verifying tokens are not available; try again later.";
  throw new ByrefError("unavailable", message);
}

function keysAt(url: string): IssuerKeys {
  const remote = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: STALE_MS,
    timeoutDuration: FETCH_MS,
    // Only `publicKey` fetches: a failed fetch, too, is followed by a pause.
    cooldownDuration: Number.POSITIVE_INFINITY,
  });
  return { url, remote, fetchedMs: -Infinity, nextMs: -Infinity };
}
