import * as limits from "../../limits.ts";
import type { SignatureAlgorithm } from "hono/utils/jwt/jwa";
import * as z from "zod";
import { ByrefError, messageOf } from "../../errors.ts";
import { withTimeLimit } from "../../value/deadline.ts";

/** A public key, and the one algorithm that it is for. */
export interface PublicKey {
  readonly jwk: z.infer<typeof publicJwk>;
  readonly algorithm: SignatureAlgorithm;
}

const FRESH_MS = 600_000;
/** So long keys are good while their issuer cannot be reached. */
const STALE_MS = 3_600_000;
/** Whatever tokens say: an issuer is not asked more often. */
const RETRY_MS = 10_000;
const FETCH_MS = 5_000;
/** The base64url of 2048 bits. */
const MIN_RSA_CHARS = 342;

/** By what a key is; the first is what it is for if it does not say. Shared secrets are no public keys. */
const ALGORITHMS: Readonly<Record<string, readonly SignatureAlgorithm[]>> = {
  RSA: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  "EC P-256": ["ES256"],
  "EC P-384": ["ES384"],
  "OKP Ed25519": ["EdDSA"],
};

/** No more of it than a check needs: no private part, no other use. */
const publicJwk = z.object({
  kid: z.string().min(1),
  kty: z.enum(["RSA", "EC", "OKP"]),
  use: z.literal("sig").exactOptional(),
  alg: z.string().exactOptional(),
  n: z.string().min(MIN_RSA_CHARS).exactOptional(),
  e: z.string().exactOptional(),
  crv: z.string().exactOptional(),
  x: z.string().exactOptional(),
  y: z.string().exactOptional(),
});

const keySet = z.object({ keys: z.array(z.unknown()).max(limits.maxJwksKeys) });

type Keys = ReadonlyMap<string, PublicKey>;

/** The keys of one issuer, as long as the isolate lives. */
export class PublicKeys {
  readonly #url: string;
  #keys: Keys = new Map();
  #fetchedMs = Number.NEGATIVE_INFINITY;
  /** For keys that could not be had, or did not hold the one that was wanted. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(url: string) {
    this.#url = url;
  }

  /** Undefined if the issuer has no such key. Throws `keys_unavailable`. */
  async find(id: string): Promise<PublicKey | undefined> {
    const now = Date.now();
    const found = this.#keys.get(id);
    if (found !== undefined && now - this.#fetchedMs < FRESH_MS) return found;
    if (now >= this.#nextMs) await this.#fetch(now);
    if (this.#isGood(now)) return this.#keys.get(id);
    const message = "The keys that tokens are checked with cannot be had now; try again later.";
    throw new ByrefError("keys_unavailable", message);
  }

  #isGood(now: number): boolean {
    return now - this.#fetchedMs < STALE_MS;
  }

  async #fetch(now: number): Promise<void> {
    // Who comes meanwhile makes do with what is there, and asks too if that is nothing: a request may not
    // wait for another's, which may be cancelled.
    if (this.#isGood(now)) this.#nextMs = now + RETRY_MS;
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
  // Where it redirects to is not what was configured.
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) throw new Error(`The answer is ${response.status}.`);
  const { keys } = keySet.parse(JSON.parse(await textOf(response)));
  return new Map(keys.flatMap((key) => entryOf(key)));
}

/** None for a key that is for something else, or that nothing here can check with. */
function entryOf(key: unknown): readonly (readonly [id: string, key: PublicKey])[] {
  const { data: jwk } = publicJwk.safeParse(key);
  if (jwk === undefined) return [];
  const kind = jwk.kty === "RSA" ? jwk.kty : `${jwk.kty} ${jwk.crv}`;
  const algorithms = ALGORITHMS[kind] ?? [];
  const algorithm = algorithms.find((name) => name === (jwk.alg ?? name));
  return algorithm === undefined ? [] : [[jwk.kid, { jwk, algorithm }]];
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
