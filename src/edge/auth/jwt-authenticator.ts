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
    const { typ = "JWT" } = protectedHeader;
    if (ACCESS_TOKEN.test(typ) && hasValidTimes(payload)) return payload;
  } catch (error) {
    if (codeOf(error) === "unavailable") throw error;
  }
  throw unauthorized("The token is not valid.");
}

/** The types of access tokens, as media types are written (RFC 7515, 4.1.9). */
const ACCESS_TOKEN = /^(?:application\/)?(?:at\+)?jwt$/i;

/** Checks what `jwtVerify` does not: infinite times, and an `iat` in the future. */
function hasValidTimes({ exp, nbf, iat }: Claims): boolean {
  const isFinite = [exp, nbf, iat].every((time) => time === undefined || Number.isFinite(time));
  return isFinite && !(Number(iat) > Date.now() / 1_000 + limits.tokenLeewaySeconds);
}

/** How long keys are used; and the shortest time between two fetches, regardless of the tokens received. */
const KEYS_MS = 600_000;
const RETRY_MS = 10_000;

/** The algorithms of public keys. Shared secrets are not public keys. */
const PUBLIC_KEY_ALGORITHMS = [
  ...["RS", "PS", "ES"].flatMap((kind) => [`${kind}256`, `${kind}384`, `${kind}512`]),
  "EdDSA",
  // What RFC 9864 calls EdDSA.
  "Ed25519",
];

/** The issuer's keys, cached for the lifetime of the isolate. */
let issuer:
  | {
      readonly url: string;
      readonly keys: ReturnType<typeof createRemoteJWKSet>;
      /** While its keys cannot be fetched. */
      pausedUntilMs: number;
    }
  | undefined;

/** Throws if the issuer has no such key. Throws `unavailable`. */
async function publicKey(url: string, header: JWTHeaderParameters): Promise<CryptoKey> {
  const { kid } = header;
  // Without an id, a token could be tried with any key.
  if (typeof kid !== "string" || kid === "") throw unauthorized("The token names no key.");
  if (issuer?.url !== url) {
    const times = { cacheMaxAge: KEYS_MS, cooldownDuration: RETRY_MS };
    issuer = { url, keys: createRemoteJWKSet(new URL(url), times), pausedUntilMs: 0 };
  }
  const current = issuer;
  const { keys } = current;
  if (Date.now() >= current.pausedUntilMs) {
    try {
      return await keys(header);
    } catch (error) {
      // The issuer has no such key, or is away: then a stranger's token must not stop those of known keys.
      if (keys.fresh) throw error;
      current.pausedUntilMs = Date.now() + RETRY_MS;
      console.error(`JWT_JWKS_URL: ${messageOf(error)}`);
    }
  }
  const message = "The keys for verifying tokens are not available; try again later.";
  throw new ByrefError("unavailable", message);
}
