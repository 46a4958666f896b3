/** Returns a JWT with any header, any claims and any signature. */
export async function tokenOf(
  header: unknown,
  claims: unknown,
  sign: (data: Uint8Array) => Promise<ArrayBuffer | Uint8Array>,
): Promise<string> {
  const text = (part: unknown) => (typeof part === "string" ? part : JSON.stringify(part));
  const head = base64Url(encode(text(header)));
  const body = base64Url(encode(text(claims)));
  const signature = await sign(encode(`${head}.${body}`));
  return `${head}.${body}.${base64Url(new Uint8Array(signature))}`;
}

/** Returns a function that signs with a shared secret. */
export function hmac(secret: string | Uint8Array, hash = "SHA-256") {
  return async (data: Uint8Array) => {
    const bytes = typeof secret === "string" ? encode(secret) : secret;
    const algorithm = { name: "HMAC", hash };
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
    return crypto.subtle.sign("HMAC", key, data);
  };
}

const KINDS = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  RS512: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-512" },
  PS256: { name: "RSA-PSS", hash: "SHA-256", saltLength: 32 },
  ES256: { name: "ECDSA", hash: "SHA-256", namedCurve: "P-256" },
  ES384: { name: "ECDSA", hash: "SHA-384", namedCurve: "P-384" },
  ES512: { name: "ECDSA", hash: "SHA-512", namedCurve: "P-521" },
  EdDSA: { name: "Ed25519" },
  Ed25519: { name: "Ed25519" },
};

export interface Issuer {
  /** The key as published in the issuer's key set. */
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly pem: string;
  token(claims: unknown, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** Creates an issuer with a new key pair. */
export async function newIssuer(
  kid: string,
  alg: keyof typeof KINDS = "RS256",
  modulusLength = 2_048,
): Promise<Issuer> {
  const kind = KINDS[alg];
  const publicExponent = new Uint8Array([1, 0, 1]);
  const generated = await crypto.subtle.generateKey(
    { ...kind, modulusLength, publicExponent },
    true,
    ["sign", "verify"],
  );
  // These algorithms generate key pairs. A JWK exports as an object, SPKI as bytes.
  const { publicKey, privateKey } = generated as CryptoKeyPair;
  const jwk = (await crypto.subtle.exportKey("jwk", publicKey)) as JsonWebKey;
  const spki = (await crypto.subtle.exportKey("spki", publicKey)) as ArrayBuffer;
  const lines = btoa(String.fromCharCode(...new Uint8Array(spki))).replaceAll(/(.{64})/g, "$1\n");
  return {
    jwk: { ...jwk, kid, alg, use: "sig" },
    pem: `-----BEGIN PUBLIC KEY-----\n${lines}\n-----END PUBLIC KEY-----\n`,
    token: (claims, header = {}) =>
      tokenOf({ alg, kid, typ: "JWT", ...header }, claims, (data) =>
        crypto.subtle.sign(kind, privateKey, data),
      ),
  };
}

export function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
