import * as limits from "../../limits.ts";
import { decode, verify } from "hono/jwt";
import { codeOf } from "../../errors.ts";
import { isObject } from "../../value/json.ts";
import { type Door, unauthorized } from "./doors.ts";
import { type PublicKey, PublicKeys } from "./jwks.ts";
import type { Settings } from "../settings.ts";

/**
 * The door for `AUTH=jwt`: a token with a signature that counts, of the issuer and for the audience that the
 * settings name, that has not expired. Whose it is says the claim that `JWT_TENANT_CLAIM` names.
 *
 * Which algorithm counts says the key, never the token: HS256 for `JWT_SECRET`, and for a public key what its
 * issuer says that it is for. Hono checks the signature; times are checked here, for it would let a token in
 * that never expires, and allows clocks no difference. Its own JWKS door asks the issuer for every request.
 */
export const jwtDoor: Door = async (request, settings) => {
  const header = request.headers.get("authorization") ?? "";
  const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
  if (token === undefined || token.length > limits.maxTokenChars) {
    throw unauthorized("Send a token: Authorization: Bearer <JWT>.");
  }
  const claims = await signedClaims(token, settings);
  requireTimes(claims);
  if (settings.JWT_AUDIENCE === undefined && claims.aud !== undefined) {
    throw unauthorized("The token is for an audience, and JWT_AUDIENCE names none.");
  }
  const name = settings.JWT_TENANT_CLAIM ?? "";
  const tenant = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof tenant === "string") return tenant;
  throw unauthorized(`The token has no claim ${name} that is a text.`);
};

type Claims = Readonly<Record<string, unknown>>;

/** What is wrong with a token is not told to whoever made it up. */
async function signedClaims(token: string, settings: Settings): Promise<Claims> {
  const { JWT_ISSUER: iss, JWT_AUDIENCE: aud } = settings;
  try {
    const { header } = decode(token);
    const { key, alg } = await keyFor(header.kid, settings);
    const claims: unknown = await verify(token, key, {
      alg,
      exp: false,
      nbf: false,
      iat: false,
      ...(iss === undefined ? {} : { iss }),
      ...(aud === undefined ? {} : { aud }),
      // Access tokens may say what they are.
      ...(header.typ === undefined ? {} : { typ: ["JWT", "at+jwt"] }),
    });
    if (isObject(claims)) return claims;
  } catch (error) {
    if (codeOf(error) === "keys_unavailable") throw error;
  }
  throw unauthorized("The token is not valid here.");
}

interface Key {
  readonly key: CryptoKey | PublicKey["jwk"];
  readonly alg: PublicKey["algorithm"];
}

async function keyFor(id: string | undefined, settings: Settings): Promise<Key> {
  const { JWT_SECRET = "", JWT_JWKS_URL } = settings;
  if (JWT_JWKS_URL === undefined) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const secret = new TextEncoder().encode(JWT_SECRET);
    // As a text, Hono would take a secret that has "PUBLIC" in it for a PEM.
    const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["verify"]);
    return { key, alg: "HS256" };
  }
  const found = typeof id === "string" ? await keysAt(JWT_JWKS_URL).find(id) : undefined;
  if (found === undefined) throw unauthorized("The token's key is not known here.");
  return { key: found.jwk, alg: found.algorithm };
}

let known: { readonly url: string; readonly keys: PublicKeys } | undefined;

function keysAt(url: string): PublicKeys {
  if (known?.url !== url) known = { url, keys: new PublicKeys(url) };
  return known.keys;
}

function requireTimes({ exp, nbf, iat }: Claims): void {
  const now = Date.now() / 1_000;
  if (!isTime(exp) || exp + limits.tokenLeewaySeconds <= now) {
    throw unauthorized("The token has expired, or does not say when it does.");
  }
  const isEarly = [nbf, iat].some(
    (time) => time !== undefined && !(isTime(time) && time - limits.tokenLeewaySeconds <= now),
  );
  if (isEarly) throw unauthorized("The token is not good yet.");
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
