import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { callWith, keptOut, problemIn } from "../../support/edge.ts";
import { base64Url, encode, hmac, type Issuer, newIssuer, tokenOf } from "../../support/tokens.ts";

const now = () => Math.floor(Date.now() / 1_000);
const good = () => ({
  iss: "https://issuer.example",
  aud: "byref",
  exp: now() + 9_000,
  sub: "alice",
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

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("AUTH=jwt with public keys", () => {
  it.each(["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"] as const)(
    "lets in %s tokens of the issuer, and of nobody else",
    async (alg) => {
      const [issuer, stranger] = [await newIssuer("k", alg), await newIssuer("k", alg)];
      const { enter } = workerWith(keysOf(issuer));
      expect((await enter(await issuer.token(good()))).status).toBe(200);
      await keptOut(await enter(await stranger.token(good())));
    },
  );

  it.each([
    ["RS256", "ES256"],
    ["ES256", "RS256"],
    ["EdDSA", "ES256"],
  ] as const)("infers the algorithm of a key that names none: %s, not %s", async (alg, wrong) => {
    const issuer = await newIssuer("k", alg);
    const { alg: _, use: __, ...jwk } = issuer.jwk;
    const { enter } = workerWith(keysOf({ jwk }));
    expect((await enter(await issuer.token(good()))).status).toBe(200);
    await keptOut(await enter(await issuer.token(good(), { alg: wrong })));
  });

  it("accepts a key for its own algorithm only", async () => {
    const { enter } = workerWith(keysOf(rsa));
    for (const alg of ["RS384", "RS512", "PS256", "ES256", "HS256", "none", "rs256"]) {
      await keptOut(await enter(await rsa.token(good(), { alg })));
    }
  });

  it("does not accept a public key as a secret", async () => {
    const { enter } = workerWith(keysOf(rsa));
    const { n } = rsa.jwk;
    const bytes = Uint8Array.from(
      atob(String(n).replaceAll("-", "+").replaceAll("_", "/")),
      (unit) => unit.charCodeAt(0),
    );
    const secrets = [rsa.pem, rsa.pem.trim(), JSON.stringify(rsa.jwk), String(n), bytes, "rsa"];
    for (const secret of secrets) {
      for (const alg of ["HS256", "RS256"]) {
        const token = await tokenOf({ alg, kid: "rsa", typ: "JWT" }, good(), hmac(secret));
        await keptOut(await enter(token));
      }
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

  it.each([
    ["RS256", 256],
    ["PS256", 256],
    ["ES256", 64],
    ["ES384", 96],
    ["EdDSA", 64],
  ] as const)("accepts no meaningless signature of %s", async (alg, bytes) => {
    const issuer = await newIssuer("k", alg);
    const { enter } = workerWith(keysOf(issuer));
    const signatures = [
      new Uint8Array(),
      new Uint8Array(bytes),
      new Uint8Array(bytes).fill(255),
      new Uint8Array(bytes).fill(1, bytes - 1),
      // A DER sequence of two zeros.
      new Uint8Array([0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00]),
    ];
    for (const signature of signatures) {
      const header = { alg, kid: "k", typ: "JWT" };
      await keptOut(await enter(await tokenOf(header, good(), async () => signature)));
    }
    expect((await enter(await issuer.token(good()))).status).toBe(200);
  });

  it("does not look for keys where a token says they are", async () => {
    const { enter, asked } = workerWith(keysOf(rsa));
    const header = { jwk: other.jwk, jku: "https://evil.example", x5u: "https://evil.example" };
    await keptOut(await enter(await other.token(good(), { ...header, kid: "rsa" })));
    expect(asked).toHaveBeenCalledTimes(1);
  });
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

  it("are available to concurrent requests, at first and after a long time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { enter } = workerWith(keysOf(rsa));
    const token = await rsa.token(good());
    for (const laterMs of [0, 7_200_000]) {
      vi.setSystemTime(Date.now() + laterMs);
      const entered = await Promise.all([enter(token), enter(token), enter(token)]);
      expect(entered.map(({ status }) => status)).toEqual([200, 200, 200]);
    }
  });

  it("are fetched again once for many concurrent requests", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { enter, asked } = workerWith(keysOf(rsa));
    const token = await rsa.token(good());
    expect((await enter(token)).status).toBe(200);
    vi.setSystemTime(Date.now() + 601_000);
    await Promise.all([enter(token), enter(token), enter(token)]);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("are good for an hour while the issuer is away, and no longer", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    let isUp = true;
    const { enter } = workerWith(() =>
      isUp ? keysOf(rsa)() : new Response("gone", { status: 502 }),
    );
    const token = await rsa.token(good());
    expect((await enter(token)).status).toBe(200);
    isUp = false;
    vi.setSystemTime(Date.now() + 3_590_000);
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
    ["not found", () => new Response("no", { status: 404 })],
    ["a redirect", () => Response.redirect("https://evil.example/keys", 302)],
    ["nothing", () => new Response(null, { status: 204 })],
    ["a page", () => new Response("<html></html>")],
    ["no keys", () => Response.json({})],
    ["keys that are not a list", () => Response.json({ keys: { rsa: rsa.jwk } })],
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

  it("time out after five seconds", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const limit = new AbortController();
    const timed = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
    const { enter, asked } = workerWith(() => new Promise(() => undefined));
    const response = enter(await rsa.token(good()));
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(1));
    expect(timed).toHaveBeenCalledWith(5_000);
    limit.abort();
    await problemIn(await response, "unavailable");
  });
});
