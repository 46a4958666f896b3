import { describe, expect, it, beforeAll, vi } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { createRuntime } from "../../../src/byref.ts";
import { callWith, keptOut, ORIGIN, problemIn } from "../../support/edge.ts";
import { base64Url, encode, hmac, newIssuer, tokenOf, type Issuer } from "../../support/tokens.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

const SECRET = "a secret of PUBLIC and PRIVATE words, long enough";
const settings = {
  AUTH: "jwt",
  JWT_SECRET: SECRET,
  JWT_ISSUER: "https://issuer.example",
  JWT_AUDIENCE: "byref",
  JWT_TENANT_CLAIM: "org",
};
const call = callWith(settings);
const now = () => Math.floor(Date.now() / 1_000);
const good = () => ({
  iss: "https://issuer.example",
  aud: "byref",
  exp: now() + 9_000,
  org: "alice",
  sub: "alice",
});
const HS256 = { alg: "HS256", typ: "JWT" };
const signed = (claims: unknown, header: unknown = HS256) => tokenOf(header, claims, hmac(SECRET));
const enter = (token: string, through = call, path = "/agents") =>
  through("GET", path, { headers: { authorization: `Bearer ${token}` } });

describe("AUTH=jwt with a secret", () => {
  it.each<readonly [string, object, object]>([
    ["that is valid", {}, HS256],
    ["for more audiences than ours", { aud: ["other", "byref"] }, HS256],
    ["that says when it was made", { iat: now(), nbf: now() - 5, jti: "1", sub: "someone" }, HS256],
    ["from a clock that is slightly ahead", { iat: now() + 20, nbf: now() + 20 }, HS256],
    ["that expired just now, by our clock", { exp: now() - 20 }, HS256],
    ["that is an access token", {}, { alg: "HS256", typ: "at+jwt" }],
    // RFC 9068, 4; sourcemeta/core#2513
    ["whose type is a whole media type", {}, { alg: "HS256", typ: "application/AT+JWT" }],
    ["whose type is in small letters", {}, { alg: "HS256", typ: "jwt" }],
    [
      "that names some key",
      {},
      { ...HS256, kid: "../../../etc/passwd", jku: "https://evil.example" },
    ],
  ])("lets in a token %s", async (_, claims, header) => {
    expect((await enter(await signed({ ...good(), ...claims }, header))).status).toBe(200);
  });

  it.each<readonly [string, object]>([
    ["no expiry", { exp: undefined }],
    ["an expiry in the past", { exp: now() - 31 }],
    ["an expiry as text", { exp: `${now() + 300}` }],
    ["a start in the future", { nbf: now() + 60 }],
    ["an issue time in the future", { iat: now() + 60 }],
    ["another issuer", { iss: "https://issuer.example.evil" }],
    ["no issuer", { iss: undefined }],
    ["another audience", { aud: "other" }],
    ["other audiences", { aud: ["other", "Byref"] }],
    ["no audience", { aud: undefined }],
    ["no tenant", { org: undefined }],
    ["an empty tenant", { org: "" }],
    ["a tenant that is a number", { org: 5 }],
    ["a tenant that is a list", { org: ["alice"] }],
    ["a tenant that is too long", { org: "x".repeat(257) }],
    ["a tenant that is half a character", { org: "\ud800" }],
    ["a tenant by another name", { org: undefined, ORG: "alice", tenant: "alice" }],
  ])("keeps out a token with %s", async (_, claims) => {
    await keptOut(await enter(await signed({ ...good(), ...claims })));
  });

  it.each<readonly [string, unknown]>([
    ["none", { alg: "none" }],
    ["nothing", { typ: "JWT" }],
    ["HS512", { alg: "HS512" }],
    ["RS256", { alg: "RS256" }],
    ["HS256, with demands", { alg: "HS256", crit: ["exp"] }],
    ["HS256, unencoded", { alg: "HS256", b64: false, crit: ["b64"] }],
    ["HS256, as a logout token", { alg: "HS256", typ: "logout+jwt" }],
    ["HS256, as something untold", { alg: "HS256", typ: 5 }],
    ["no header but null", null],
    ["no JSON", "{"],
  ])("keeps out a well-signed token whose algorithm is %s", async (_, header) => {
    const hash =
      typeof header === "object" && JSON.stringify(header).includes("512") ? "SHA-512" : "SHA-256";
    const token = await tokenOf(header, good(), hmac(SECRET, hash));
    await keptOut(await enter(token));
    const [head, body] = token.split(".");
    for (const unsigned of [`${head}.${body}.`, `${head}.${body}`]) {
      await keptOut(await enter(unsigned));
    }
  });

  it("keeps out what was changed, cut, or signed by somebody else", async () => {
    const token = await signed(good());
    const [head = "", body = "", signature = ""] = token.split(".");
    const forged = base64Url(encode(JSON.stringify({ ...good(), org: "bob" })));
    const other = await tokenOf(HS256, good(), hmac(`${SECRET}!`));
    const empty = await tokenOf(HS256, good(), hmac("\0"));
    const all = [
      `${head}.${forged}.${signature}`,
      `${head}.${body}.${signature.slice(0, -2)}`,
      `${head}.${body}.${signature}AA`,
      `${head}.${body}.${signature}.`,
      `${head}..${signature}`,
      `.${body}.${signature}`,
      `${token},${token}`,
      other,
      empty,
      await tokenOf(HS256, { ...good(), pad: "x".repeat(9_000) }, hmac(SECRET)),
    ];
    for (const bad of all) await keptOut(await enter(bad));
    for (const authorization of [token, `Basic ${token}`, `Token ${token}`, `Bearer\t${token}`]) {
      await problemIn(await call("GET", "/agents", { headers: { authorization } }), "unauthorized");
    }
    await problemIn(await call("GET", `/agents?token=${token}&jwt=${token}`), "unauthorized");
    expect((await enter(token)).status).toBe(200);
  });

  it("needs only the configured claims, but refuses another audience", async () => {
    const few = callWith({ AUTH: "jwt", JWT_SECRET: SECRET, JWT_TENANT_CLAIM: "sub" });
    const exp = now() + 60;
    expect((await enter(await signed({ exp, sub: "a", iss: "any" }), few)).status).toBe(200);
    // The token has an audience, and none is configured.
    const forOther = await signed({ exp, sub: "a", aud: "other" });
    await keptOut(await enter(forOther, few));
  });
});

describe("the settings of AUTH=jwt", () => {
  it("do not accept a public key as a secret", async () => {
    const { pem } = await newIssuer("a");
    const bad = callWith({ ...settings, JWT_SECRET: pem });
    const token = await tokenOf(HS256, good(), hmac(pem));
    const problem = await problemIn(await enter(token, bad), "bad_configuration");
    expect(problem.detail).toContain("JWT_SECRET must be a secret");
  });

  it("need an authenticator that the application passes", async () => {
    const { worker } = createRuntime({ agents: [weather], model: () => Promise.reject() as never });
    const request = new Request(`${ORIGIN}/agents`, {
      headers: { authorization: `Bearer ${await signed(good())}` },
    });
    const response = await worker.fetch(request, { ...env, ...settings }, createExecutionContext());
    expect((await problemIn(response, "bad_configuration")).detail).toContain(
      "jwt: jwtAuthenticator",
    );
  });
});

let numbered = 0;

/** Creates a Worker that has not fetched its issuer's keys yet, and counts its fetches. */
function workerWith(answer: () => Response | Promise<Response>) {
  const url = `https://issuer.example/keys/${numbered++}`;
  const call = callWith({
    AUTH: "jwt",
    JWT_JWKS_URL: url,
    JWT_ISSUER: "https://issuer.example",
    JWT_AUDIENCE: "byref",
    JWT_TENANT_CLAIM: "sub",
  });
  const asked = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    expect(input).toBe(url);
    expect(init?.redirect).toBe("manual");
    init?.signal?.throwIfAborted();
    const aborted = new Promise<never>((_, fail) => {
      init?.signal?.addEventListener("abort", () => fail(new Error("aborted")));
    });
    return Promise.race([answer(), aborted]);
  });
  return {
    asked,
    enter: (token: string) =>
      call("GET", "/agents", { headers: { authorization: `Bearer ${token}` } }),
  };
}

const keysOf =
  (...issuers: readonly Pick<Issuer, "jwk">[]) =>
  () =>
    Response.json({ keys: issuers.map(({ jwk }) => jwk) });

let rsa: Issuer;
let other: Issuer;

beforeAll(async () => {
  rsa = await newIssuer("rsa");
  other = await newIssuer("other");
});

describe("AUTH=jwt with public keys", () => {
  it.each(["RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const)(
    "lets in %s tokens of the issuer, and of nobody else (PrefectHQ/fastmcp#4752)",
    async (alg) => {
      const [issuer, stranger] = [await newIssuer("k", alg), await newIssuer("k", alg)];
      const { enter } = workerWith(keysOf(issuer));
      expect((await enter(await issuer.token(good()))).status).toBe(200);
      await keptOut(await enter(await stranger.token(good())));
    },
  );

  it("accepts a key for its own algorithm only", async () => {
    const { enter } = workerWith(keysOf(rsa));
    for (const alg of ["RS384", "RS512", "PS256", "ES256", "HS256", "none", "rs256"]) {
      await keptOut(await enter(await rsa.token(good(), { alg })));
    }
  });

  it("ignores shared secrets, weak keys and keys for other uses in the set", async () => {
    const k = base64Url(encode("x".repeat(32)));
    const weak = await newIssuer("weak", "RS256", 1_024);
    const set = [
      { kty: "oct", kid: "oct", alg: "HS256", k },
      { kty: "oct", kid: "oct2", k },
      { ...weak.jwk },
      { ...rsa.jwk, kid: "enc", use: "enc" },
      { ...rsa.jwk, kid: "HS", alg: "HS256" },
      { ...rsa.jwk, kid: "kty", kty: "oct", k },
      { ...rsa.jwk, kid: "" },
      { ...rsa.jwk, kid: 5 },
    ];
    const { enter } = workerWith(() => Response.json({ keys: set }));
    for (const kid of ["oct", "oct2", "kty", "HS"]) {
      const token = await tokenOf({ alg: "HS256", kid }, good(), hmac("x".repeat(32)));
      await keptOut(await enter(token));
    }
    for (const kid of ["enc", "HS", "kty", "", 5]) {
      await keptOut(await enter(await rsa.token(good(), { kid })));
    }
    await keptOut(await enter(await weak.token(good())));
  });

  it.each([undefined, null, 5, "", "RSA", "unknown", ["rsa"], { kid: "rsa" }, "__proto__"])(
    "keeps out a token with the key id %j",
    async (kid) => {
      const { enter } = workerWith(keysOf(rsa));
      await keptOut(await enter(await rsa.token(good(), { kid })));
    },
  );
});

describe("the keys of an issuer", () => {
  it("are fetched once for many requests, and again after ten minutes", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { enter, asked } = workerWith(keysOf(rsa));
    const token = await rsa.token(good());
    for (let times = 0; times < 5; times++) expect((await enter(token)).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(1);
    vi.setSystemTime(Date.now() + 601_000);
    expect((await enter(token)).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("are fetched again for a new key, but not for every made-up one", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    let keys = [rsa];
    const { enter, asked } = workerWith(() => keysOf(...keys)());
    expect((await enter(await rsa.token(good()))).status).toBe(200);
    keys = [other];
    vi.setSystemTime(Date.now() + 11_000);
    expect((await enter(await other.token(good()))).status).toBe(200);
    await keptOut(await enter(await rsa.token(good())));
    for (let kid = 0; kid < 20; kid++) {
      const token = await other.token(good(), { kid: `made-up-${kid}` });
      await keptOut(await enter(token));
    }
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("are good for ten minutes while the issuer is away, whatever a stranger sends, and no longer", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    let isUp = true;
    const { enter } = workerWith(() =>
      isUp ? keysOf(rsa)() : new Response("gone", { status: 502 }),
    );
    const token = await rsa.token(good());
    expect((await enter(token)).status).toBe(200);
    isUp = false;
    vi.setSystemTime(Date.now() + 590_000);
    await keptOut(await enter(await rsa.token(good(), { kid: "made-up" })));
    expect((await enter(token)).status).toBe(200);
    vi.setSystemTime(Date.now() + 20_000);
    const refused = await enter(token);
    expect(refused.headers.get("retry-after")).toBe("5");
    await problemIn(refused, "unavailable");
    isUp = true;
    vi.setSystemTime(Date.now() + 20_000);
    expect((await enter(token)).status).toBe(200);
  });

  it.each<readonly [string, () => Response | Promise<Response>]>([
    ["an error", () => new Response("oh", { status: 500 })],
    ["a redirect", () => Response.redirect("https://evil.example/keys", 302)],
    ["a page", () => new Response("<html></html>")],
    ["no keys", () => Response.json({})],
    ["keys that are no objects", () => Response.json({ keys: [null] })],
    ["no connection", () => Promise.reject(new Error("refused"))],
  ])("cannot be loaded: %s", async (_, answer) => {
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { enter, asked } = workerWith(answer);
    const token = await rsa.token(good());
    for (let times = 0; times < 3; times++) {
      const response = await enter(token);
      expect(response.status).toBe(503);
      await problemIn(response, "unavailable");
    }
    expect(asked).toHaveBeenCalledTimes(1);
    expect(said).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(said.mock.calls)).not.toContain(token);
  });
});
