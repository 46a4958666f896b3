import { describe, expect, it } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { createRuntime } from "../../../src/byref.ts";
import { callWith, keptOut, ORIGIN, problemIn } from "../../support/edge.ts";
import { base64Url, encode, hmac, newIssuer, tokenOf } from "../../support/tokens.ts";
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
  exp: now() + 300,
  org: "alice",
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
    ["that names no type", {}, { alg: "HS256" }],
    ["that is an access token", {}, { alg: "HS256", typ: "at+jwt" }],
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
    ["an expiry long ago", { exp: 0 }],
    ["an expiry as text", { exp: `${now() + 300}` }],
    ["an expiry that is null", { exp: null }],
    ["an expiry in an array", { exp: [now() + 300] }],
    ["a start in the future", { nbf: now() + 60 }],
    ["a start as text", { nbf: "0" }],
    ["a start that is null", { nbf: null }],
    ["an issue time in the future", { iat: now() + 60 }],
    ["another issuer", { iss: "https://issuer.example.evil" }],
    ["its issuer in an array", { iss: ["https://issuer.example"] }],
    ["no issuer", { iss: undefined }],
    ["another audience", { aud: "other" }],
    ["an audience that begins like ours", { aud: "byref-staging" }],
    ["other audiences", { aud: ["other", "Byref"] }],
    ["no audiences", { aud: [] }],
    ["an audience in an array in an array", { aud: [["byref"]] }],
    ["no audience", { aud: undefined }],
    ["no tenant", { org: undefined }],
    ["an empty tenant", { org: "" }],
    ["a tenant that is a number", { org: 5 }],
    ["a tenant that is null", { org: null }],
    ["a tenant that is a list", { org: ["alice"] }],
    ["a tenant that is true", { org: true }],
    ["a tenant that is too long", { org: "x".repeat(257) }],
    ["a tenant that is half a character", { org: "\ud800" }],
    ["a tenant by another name", { org: undefined, ORG: "alice", tenant: "alice" }],
  ])("keeps out a token with %s", async (_, claims) => {
    await keptOut(await enter(await signed({ ...good(), ...claims })));
  });

  it.each<readonly [string, unknown]>([
    ["none", { alg: "none" }],
    ["None", { alg: "None", typ: "JWT" }],
    ["NONE", { alg: "NONE" }],
    ["nothing", { typ: "JWT" }],
    ["an empty one", { alg: "" }],
    ["null", { alg: null }],
    ["a list", { alg: ["HS256"] }],
    ["hs256", { alg: "hs256" }],
    ["HS384", { alg: "HS384" }],
    ["HS512", { alg: "HS512" }],
    ["RS256", { alg: "RS256" }],
    ["ES256", { alg: "ES256" }],
    ["__proto__", { alg: "__proto__" }],
    ["HS256, with demands", { alg: "HS256", crit: ["exp"] }],
    ["HS256, unencoded", { alg: "HS256", b64: false, crit: ["b64"] }],
    ["HS256, as a logout token", { alg: "HS256", typ: "logout+jwt" }],
    ["HS256, as something untold", { alg: "HS256", typ: 5 }],
    ["no header but null", null],
    ["no header but text", '"HS256"'],
    ["no header but a list", ["HS256"]],
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

  it.each(["null", "[]", '"alice"', "5", "{", "", "true", '{"exp":1e999}'])(
    "keeps out claims that are %j",
    async (claims) => {
      await keptOut(await enter(await signed(claims)));
      const [head = "", body = ""] = (await signed(claims)).split(".");
      await keptOut(await enter(`${head}.${body}.AAAA`));
    },
  );

  it("keeps out what was changed, cut, or signed by somebody else", async () => {
    const token = await signed(good());
    const [head = "", body = "", signature = ""] = token.split(".");
    const forged = base64Url(encode(JSON.stringify({ ...good(), org: "bob" })));
    const other = await tokenOf(HS256, good(), hmac(`${SECRET}!`));
    const empty = await tokenOf(HS256, good(), hmac("\0"));
    const all = [
      `${head}.${forged}.${signature}`,
      `${base64Url(encode('{"alg":"HS256"}'))}.${body}.${signature}`,
      `${head}.${body}.${signature.slice(0, -2)}`,
      `${head}.${body}.${signature.slice(2)}`,
      `${head}.${body}.${signature}AA`,
      `${head}.${body}.${signature}=`,
      `${head}.${body}.${signature}.`,
      `${head}.${body}.${signature}.${signature}`,
      `${head}..${signature}`,
      `.${body}.${signature}`,
      `${body}.${head}.${signature}`,
      `${token} ${token}`,
      `${token},${token}`,
      `"${token}"`,
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

  it("quotes nothing of a token that it refuses", async () => {
    const token = await tokenOf(HS256, good(), hmac("somebody else's secret"));
    const said = JSON.stringify(await keptOut(await enter(token)));
    for (const part of token.split(".")) expect(said).not.toContain(part);
  });

  it("needs only the configured claims, but refuses another audience", async () => {
    const few = callWith({ AUTH: "jwt", JWT_SECRET: SECRET, JWT_TENANT_CLAIM: "sub" });
    const exp = now() + 60;
    expect((await enter(await signed({ exp, sub: "a", iss: "any" }), few)).status).toBe(200);
    // The token has an audience, and none is configured.
    const forOther = await signed({ exp, sub: "a", aud: "other" });
    await keptOut(await enter(forOther, few));
  });

  it.each(["__proto__", "constructor", "toString", "https://byref.example/tenant"])(
    "reads a claim %s like any other",
    async (name) => {
      const through = callWith({ ...settings, JWT_TENANT_CLAIM: name });
      await keptOut(await enter(await signed(good()), through));
      const claims = `{"${name}": "alice", ${JSON.stringify(good()).slice(1)}`;
      expect((await enter(await signed(claims), through)).status).toBe(200);
    },
  );
});

describe("the settings of AUTH=jwt", () => {
  const jwks = {
    AUTH: "jwt",
    JWT_JWKS_URL: "https://issuer.example/keys",
    JWT_TENANT_CLAIM: "sub",
    JWT_ISSUER: "i",
    JWT_AUDIENCE: "a",
  };

  it.each<readonly [string, Record<string, string>]>([
    ["JWT_SECRET", { AUTH: "jwt", JWT_TENANT_CLAIM: "sub" }],
    ["JWT_SECRET", { ...jwks, JWT_SECRET: SECRET }],
    ["JWT_SECRET", { ...settings, JWT_SECRET: "hunter2-hunter2" }],
    ["JWT_TENANT_CLAIM", { ...settings, JWT_TENANT_CLAIM: "" }],
    ["JWT_TENANT_CLAIM", { ...jwks, JWT_TENANT_CLAIM: "" }],
    ["JWT_ISSUER", { ...jwks, JWT_ISSUER: "" }],
    ["JWT_AUDIENCE", { ...jwks, JWT_AUDIENCE: "" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "hunter2" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "http://issuer.example/keys" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "ftp://localhost/hunter2" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "https://a:hunter2@issuer.example/keys" }],
    ["TICKET_SECRET", { ...settings, TICKET_SECRET: "hunter2" }],
  ])("name %s if it is wrong or missing: %j", async (name, bad) => {
    const problem = await problemIn(await callWith(bad)("GET", "/agents"), "bad_configuration");
    expect(problem.detail).toContain(name);
    expect(JSON.stringify(problem)).not.toContain("hunter2");
  });

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
