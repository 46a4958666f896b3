import { jwtVerify } from "jose/jwt/verify";
import { codeOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Settings } from "../settings.ts";
import { type Authenticator, unauthorized } from "./authenticator.ts";
import { PUBLIC_KEY_ALGORITHMS, type PublicKey, PublicKeys } from "./public-keys.ts";

/**
 * The authenticator for `AUTH=jwt`. The token's signature, issuer and audience must match the settings, and
 * the token must have an expiry time. The claim named by `JWT_TENANT_CLAIM` is the tenant.
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
    throw unauthorized("The token is for an audience, and JWT_AUDIENCE names none.");
  }
  const name = settings.JWT_TENANT_CLAIM ?? "";
  const tenant = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof tenant === "string") return tenant;
  throw unauthorized(`The token has no claim ${name} that is a text.`);
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
  throw unauthorized("The token is not valid here.");
}

async function keyFor(id: unknown, settings: Settings): Promise<Uint8Array | PublicKey> {
  const { JWT_SECRET = "", JWT_JWKS_URL } = settings;
  if (JWT_JWKS_URL === undefined) return new TextEncoder().encode(JWT_SECRET);
  const key = typeof id === "string" ? await keysAt(JWT_JWKS_URL).find(id) : undefined;
  if (key === undefined) throw unauthorized("The token's key is not known here.");
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
