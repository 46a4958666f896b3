import { describe, expect, it, vi } from "vitest";
import { callWith, ORIGIN, problemIn, newId, json } from "../../support/edge.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { weather } from "../../../examples/agents/weather.ts";
import { ByrefError, type ErrorCode } from "../../../src/errors.ts";
import { createRuntime, type Authenticator, settingsAuthenticator } from "../../../src/byref.ts";
import { scriptedModel } from "byref/testing";

/** Every route of the Worker, with a key: test/edge/auth/requests.test.ts. */
const routes = ["GET /agents", "POST /conversations", "GET /conversations/x/variables/x"];

it.each([...routes, "GET /nowhere", "OPTIONS /conversations", "PATCH /health"])(
  "without AUTH, %s answers 401, and names the way out",
  async (route) => {
    const [method = "", path = ""] = route.split(" ");
    for (const setting of [{}, { AUTH: "" }]) {
      const response = await callWith(setting)(method, path, { headers: { host: "localhost" } });
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      const { detail } = await problemIn(response, "unauthorized");
      expect(detail).toContain("AUTH=none into .dev.vars");
    }
  },
);

describe("AUTH=none", () => {
  const call = callWith({ AUTH: "none" });
  const withHeaders = (headers: Record<string, string>, url = `${ORIGIN}/agents`) =>
    call("GET", url, { headers });

  it.each(
    "localhost localhost:8787 LOCALHOST LocalHost:1 127.0.0.1 127.0.0.1:65535 [::1] [::1]:8787".split(
      " ",
    ),
  )("lets the host %s in", async (host) => {
    expect((await withHeaders({ host })).status).toBe(200);
    expect((await withHeaders({ host }, "http://byref.example/agents")).status).toBe(200);
    // Without a Host header, the URL's host counts.
    expect((await withHeaders({}, `http://${host}/agents`)).status).toBe(200);
  });

  const foreign =
    "byref.example localhost.evil.example 127.0.0.1.evil.example evil-localhost notlocalhost:8787 " +
    "localhost.evil.example:8787 evil.example:localhost ::1 [::2] [::1].evil.example 0.0.0.0 " +
    "[::1]evil.example:80 127.0.0.2 localhost. localhost:80:evil.example evil.example#localhost";

  it.each([...foreign.split(" "), "localhost,evil.example", ""])("keeps %j out", async (host) => {
    await problemIn(await withHeaders({ host }), "foreign_origin");
  });

  it.each([
    ["localhost:8787", "http://localhost:8787", true],
    ["localhost", "http://localhost", true],
    ["[::1]:8787", "http://[::1]:8787", true],
    ["localhost:8787", "http://localhost:3000", false],
    ["localhost:8787", "http://localhost", false],
    ["localhost:8787", "http://localhost:8787.evil.example", false],
    ["localhost:8787", "ftp://localhost:8787", false],
    ["localhost:8787", "localhost:8787", false],
    ["localhost", "null", false],
  ])("of the host %s, may be called by pages of %s: %s", async (host, origin, isAllowed) => {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      const path = isAllowed ? "/agents" : "/conversations/x/variables/x";
      const response = await call(isAllowed ? "GET" : method, path, { headers: { host, origin } });
      if (isAllowed) expect(response.status).toBe(200);
      else await problemIn(response, "foreign_origin");
    }
  });

  it.each([
    ["cross-site", 403],
    ["same-origin", 200],
    ["same-site", 200],
    ["none", 200],
  ])("answers a page with no Origin, but Sec-Fetch-Site: %s, with %i", async (site, status) => {
    expect((await withHeaders({ "sec-fetch-site": site })).status).toBe(status);
  });

  it("lets only the pages of CORS_ORIGINS call it", async () => {
    const call = callWith({ AUTH: "none", CORS_ORIGINS: "https://a.example, https://b.example" });
    const from = (origin: string) => call("GET", "/agents", { headers: { origin } });
    expect((await from("https://a.example")).status).toBe(200);
    expect((await from("https://b.example")).status).toBe(200);
    for (const origin of ["https://a.example:8443", "https://a.example, https://b.example"]) {
      await problemIn(await from(origin), "foreign_origin");
    }
  });
});

const KEY = "alice-key-0123456789";

describe("AUTH=bearer", () => {
  const [alice, alice2, bob] = [KEY, "alice-key-9876543210", "bob-key-0123456789"];
  const API_KEYS = JSON.stringify({ [alice]: "alice", [alice2]: "alice", [bob]: "bob" });
  const call = callWith({ AUTH: "bearer", API_KEYS });

  it.each([
    undefined,
    "",
    "Bearer ",
    `Basic ${alice}`,
    alice,
    `Bearer ${alice}x`,
    `Bearer ${alice.slice(0, -1)}`,
    `Bearer x${alice}`,
    `Bearer ${alice} ${bob}`,
    `Bearer  ${alice}`,
    `Bearer ${"x".repeat(513)}`,
    `Bearer __proto__`,
  ])("keeps out a caller that sends %j", async (authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await call("GET", `/agents?key=${alice}&ticket=${alice}`, { headers });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    const { detail } = await problemIn(response, "unauthorized");
    expect(detail).not.toContain("-key-");
  });

  it.each([alice, alice2, bob])("lets the key %s in, under any host and origin", async (key) => {
    for (const authorization of [`Bearer ${key}`, `bearer ${key}`]) {
      const headers = { authorization, origin: "https://byref.example" };
      expect((await call("GET", "https://byref.example/agents", { headers })).status).toBe(200);
    }
  });
});

describe("bad settings", () => {
  const SECRET = "hunter2-hunter2-hunter2";
  const jwks = {
    AUTH: "jwt",
    JWT_JWKS_URL: "https://issuer.example/keys",
    JWT_TENANT_CLAIM: "sub",
    JWT_ISSUER: "i",
    JWT_AUDIENCE: "a",
  };
  const origins =
    "foo null https://app.example/path https://*.example https://user:hunter2@app.example " +
    "https://app.example:443 https://app.example, ftp://app.example https://a.example,foo";
  const keyed = (keys: object) => ({ AUTH: "bearer", API_KEYS: JSON.stringify(keys) });

  it.each<readonly [string, Readonly<Record<string, string>>]>([
    ["AUTH", { AUTH: SECRET }],
    ["API_KEYS", { AUTH: "bearer" }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: SECRET }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": "t"` }],
    ["API_KEYS", { AUTH: "none", API_KEYS: SECRET }],
    ["API_KEYS must be JSON", keyed([SECRET])],
    ["API_KEYS must be JSON", keyed({ [SECRET]: 5 })],
    ["API_KEYS must be JSON", keyed({ [SECRET]: "" })],
    ["API_KEYS must be JSON", keyed({ hunter2: "t" })],
    ["API_KEYS must be JSON", keyed({ "hunter2 with spaces in": "t" })],
    ["API_KEYS must be JSON", keyed({ "hunter2-hünter2-hunter2": "t" })],
    ["API_KEYS must be JSON", keyed({ [SECRET.repeat(40)]: "t" })],
    ["API_KEYS must be JSON", keyed({ [SECRET]: "t".repeat(257) })],
    ["API_KEYS must be JSON", keyed({ [SECRET]: "\ud800" })],
    ["API_KEYS must be JSON", keyed({ [SECRET]: ["t"] })],
    ["MODEL_BASE_URL", { AUTH: "none", MODEL_BASE_URL: SECRET }],
    ["MODEL_BASE_URL", { AUTH: "none", MODEL_BASE_URL: `ftp://user:${SECRET}@host.example` }],
    ["JWT_SECRET", { AUTH: "jwt", JWT_TENANT_CLAIM: "sub" }],
    ["JWT_SECRET", { ...jwks, JWT_SECRET: "x".repeat(32) }],
    ["JWT_SECRET", { ...jwks, JWT_JWKS_URL: "", JWT_SECRET: SECRET }],
    [
      "JWT_TENANT_CLAIM",
      { ...jwks, JWT_JWKS_URL: "", JWT_SECRET: "x".repeat(32), JWT_TENANT_CLAIM: "" },
    ],
    ["JWT_TENANT_CLAIM", { ...jwks, JWT_TENANT_CLAIM: "" }],
    ["JWT_ISSUER", { ...jwks, JWT_ISSUER: "" }],
    ["JWT_AUDIENCE", { ...jwks, JWT_AUDIENCE: "" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "hunter2" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "http://issuer.example/keys" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "ftp://localhost/hunter2" }],
    ["JWT_JWKS_URL", { ...jwks, JWT_JWKS_URL: "https://a:hunter2@issuer.example/keys" }],
    ["TICKET_SECRET", { ...jwks, TICKET_SECRET: "hunter2" }],
    ["OTEL_EXPORTER_OTLP_HEADERS", { OTEL_EXPORTER_OTLP_HEADERS: "hunter2" }],
    ["OTEL_EXPORTER_OTLP_HEADERS", { OTEL_EXPORTER_OTLP_HEADERS: "a b=hunter2" }],
    ["OTEL_EXPORTER_OTLP_HEADERS", { OTEL_EXPORTER_OTLP_HEADERS: "a=hunter2%zz" }],
    ["OTEL_EXPORTER_OTLP_HEADERS", { OTEL_EXPORTER_OTLP_HEADERS: "a=hunter2%0d%0ab:%20c" }],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector/hunter2" }],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", { OTEL_EXPORTER_OTLP_ENDPOINT: "https://u:hunter2@collector" }],
    ["LOG", { LOG: SECRET }],
    ...origins.split(" ").map((CORS_ORIGINS) => ["CORS_ORIGINS", { CORS_ORIGINS }] as const),
    ["CORS_ORIGINS", { CORS_ORIGINS: "https://app.example https://other.example" }],
    ["JURISDICTION must be eu", { JURISDICTION: "EU" }],
    ["LOCATION_HINT must be wnam", { LOCATION_HINT: "europe" }],
  ])("are refused naming %s, but no value: %j", async (name, settings) => {
    const response = await callWith(settings)("GET", "/agents");
    const problem = await problemIn(response, "bad_configuration");
    expect(problem.detail).toContain(name);
    expect(JSON.stringify([problem, ...response.headers])).not.toContain("hunter2");
  });

  it("close every route but /health", async () => {
    const call = callWith({ AUTH: "none", LOG: "everything" });
    for (const route of routes) {
      const [method = "", path = ""] = route.split(" ");
      await problemIn(await call(method, path), "bad_configuration");
    }
    expect((await call("GET", "/health")).status).toBe(200);
  });
});

it("API_KEYS are all compared in constant time, wherever the right one is", async () => {
  const others = Array.from({ length: 9 }, (_, at) => [`other-key-${at}-0123456789`, "other"]);
  const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
  for (const entries of [
    [[KEY, "alice"], ...others],
    [...others, [KEY, "alice"]],
  ]) {
    const API_KEYS = JSON.stringify(Object.fromEntries(entries));
    const call = callWith({ AUTH: "bearer", API_KEYS });
    for (const [key, status] of [
      [KEY, 200],
      [`${KEY}x`, 401],
      ["x", 401],
    ] as const) {
      compare.mockClear();
      const headers = { authorization: `Bearer ${key}` };
      expect((await call("GET", "/agents", { headers })).status).toBe(status);
      const sizes = compare.mock.calls.flat().map(({ byteLength }) => byteLength);
      expect(sizes).toEqual(Array.from({ length: 20 }, () => 32));
    }
  }
});

describe("CORS_ORIGINS", () => {
  const APP = "https://app.example";
  const keys = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "alice" }) };
  const call = callWith({ ...keys, CORS_ORIGINS: `http://localhost:5173, ${APP}` });
  const key = { authorization: `Bearer ${KEY}` };
  const ask = (path: string, origin: string, through = call) =>
    through("OPTIONS", path, {
      headers: {
        origin,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization,content-type,if-match",
      },
    });
  const allowed = ({ headers }: Response) => headers.get("access-control-allow-origin");

  /** Stores a value, and returns its path. */
  async function newValue(): Promise<string> {
    const path = `/conversations/${newId()}/variables/diary`;
    const headers = { ...key, "content-type": "text/plain" };
    expect((await call("PUT", path, { body: "text", headers })).status).toBe(201);
    return path;
  }

  it.each([APP, "http://localhost:5173"])(
    "lets pages of %s write and read headers",
    async (origin) => {
      const path = await newValue();
      const asked = await ask(path, origin);
      expect([asked.status, allowed(asked)]).toEqual([204, origin]);
      const methods = asked.headers.get("access-control-allow-methods")?.split(",");
      expect(methods).toEqual(expect.arrayContaining(["POST", "PUT", "PATCH", "DELETE"]));
      expect(asked.headers.get("access-control-allow-headers")).toMatch(/content-type.*if-match/);
      const headers = { ...key, origin, range: "bytes=1-2" };
      const part = await call("GET", path, { headers });
      expect([part.status, await part.text(), allowed(part)]).toEqual([206, "ex", origin]);
      const exposed = part.headers.get("access-control-expose-headers")?.toLowerCase();
      for (const name of ["etag", "location", "content-range", "accept-ranges"]) {
        expect(exposed).toContain(name);
      }
      // The content gives pages of other sites no access, whichever origin may call.
      expect(part.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    },
  );

  it("lets an allowed page read why it was refused, and open endpoints (ory/hydra#2989)", async () => {
    expect(allowed(await call("GET", "/health", { headers: { origin: APP } }))).toBe(APP);
    const response = await call("GET", await newValue(), { headers: { origin: APP } });
    expect(allowed(response)).toBe(APP);
    const exposed = response.headers.get("access-control-expose-headers");
    expect(exposed).toContain("www-authenticate");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("vary")?.toLowerCase()).toContain("origin");
    await problemIn(response, "unauthorized");
  });

  it("is off unless it names an origin", async () => {
    expect(allowed(await ask("/conversations", APP, callWith({ AUTH: "none" })))).toBeNull();
  });

  const foreign =
    "https://evil.example null https://app.example.evil http://app.example https://APP.example " +
    "https://app.example:8443 https://app.example/ https://sub.app.example https://app https://app.example, " +
    "file:// * undefined";

  it.each(foreign.split(" "))("%s may not even ask", async (origin) => {
    const path = await newValue();
    const asked = await ask(path, origin);
    expect(allowed(asked)).toBeNull();
    expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
    // Requests that are sent anyway get no readable answer.
    const read = await call("GET", path, { headers: { origin, ...key } });
    expect(allowed(read)).toBeNull();
    expect(read.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    await read.text();
  });
});

/** Creates the Worker of an application with a custom authenticator. */
function workerWith(authenticator: unknown, bindings: object = {}) {
  const { worker } = createRuntime({
    agents: [weather],
    model: scriptedModel([]),
    // At run time, an authenticator may return values that its type forbids.
    authenticator: authenticator as Authenticator,
  });
  return async (method: string, path: string, init: RequestInit = {}) => {
    const request = new Request(`${ORIGIN}${path}`, { ...init, method });
    return worker.fetch(request, { ...env, ...bindings }, createExecutionContext());
  };
}

describe("an application's own authenticator", () => {
  it("determines the tenant of a request", async () => {
    const call = workerWith((request: Request) => request.headers.get("cookie") ?? "");
    const path = `/conversations/${newId()}/variables/a`;
    const as = (cookie: string) => ({ headers: { cookie } });
    expect((await call("PUT", path, json(1, { cookie: "a" }))).status).toBe(201);
    expect(await (await call("GET", path, as("a"))).json()).toBe(1);
    await problemIn(await call("GET", path, as("b")), "variable_not_found");
    await problemIn(await call("GET", path), "unauthorized");
  });

  it("can wrap the authenticator of the settings", async () => {
    const authenticator: Authenticator = async (request, settings) =>
      `own:${await settingsAuthenticator(request, settings)}`;
    const call = workerWith(authenticator, { AUTH: "none" });
    expect((await call("GET", "/agents")).status).toBe(200);
    await problemIn(
      await call("GET", "/agents", { headers: { host: "evil.example" } }),
      "foreign_origin",
    );
    await problemIn(await workerWith(authenticator)("GET", "/agents"), "unauthorized");
  });

  const unreadable = {
    get: () => {
      throw new Error("no");
    },
  };
  const returned: Readonly<Record<string, unknown>> = {
    nothing: undefined,
    "an empty text": "",
    "a number": 1,
    "an object without a tenant": { principal: "alice" },
    "an object with a list": { tenant: ["alice"] },
    "an empty principal": { tenant: "alice", principal: "" },
    "a principal that is a number": { tenant: "alice", principal: 7 },
    "claims that are a list": { tenant: "alice", claims: ["admin"] },
    "a String": Object("alice"),
    "too much": "x".repeat(257),
    "half a character": "a\udc00",
  };

  it.each<readonly [string, () => unknown, ErrorCode]>([
    ...Object.entries(returned).map(
      ([what, tenant]) => [`returning ${what}`, () => tenant, "unauthorized"] as const,
    ),
    ["throwing an error", () => throwing(new Error("hunter2: no such session")), "internal"],
    ["throwing nothing", () => throwing(undefined), "internal"],
    ["throwing an object", () => throwing({ code: "ok", message: "hunter2" }), "internal"],
    ["throwing what cannot be read", () => throwing(new Proxy({}, unreadable)), "internal"],
    [
      "throwing a refusal of ours",
      () => throwing(new ByrefError("foreign_origin", "Not from there.")),
      "foreign_origin",
    ],
  ])("lets nobody in by %s", async (_, authenticator, code) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    for (const own of [authenticator, async () => authenticator()]) {
      const call = workerWith(own);
      for (const [method, path] of [
        ["GET", "/agents"],
        ["DELETE", `/conversations/${newId()}`],
      ] as const) {
        const response = await call(method, path);
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
        expect(JSON.stringify(await problemIn(response, code))).not.toContain("hunter2");
      }
    }
  });

  it("is not called for /health, nor if settings are wrong", async () => {
    const authenticator = vi.fn(() => "alice");
    expect((await workerWith(authenticator)("GET", "/health")).status).toBe(200);
    const call = workerWith(authenticator, { CORS_ORIGINS: "foo" });
    await problemIn(await call("GET", "/agents"), "bad_configuration");
    expect(authenticator).not.toHaveBeenCalled();
  });
});

describe("the binding RATE_LIMIT", () => {
  const authenticator: Authenticator = ({ headers }) => headers.get("cookie") ?? "";
  const as = (cookie: string) => ({ headers: { cookie } });

  it("is applied to each tenant, and not to unauthorized requests or /health", async () => {
    const left = new Map([["a", 1]]);
    const limit = vi.fn(async ({ key }: { key: string }) => {
      const count = left.get(key) ?? 1_000;
      left.set(key, count - 1);
      return { success: count > 0 };
    });
    const call = workerWith(authenticator, { RATE_LIMIT: { limit } });
    await problemIn(await call("GET", "/agents"), "unauthorized");
    await problemIn(await call("GET", "/agents?ticket=x", as("a")), "unauthorized");
    await call("GET", "/health");
    expect((await call("GET", "/agents", as("a"))).status).toBe(200);
    const refused = await call("GET", `/conversations/${newId()}/variables`, as("a"));
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await problemIn(refused, "rate_limited");
    expect((await call("GET", "/agents", as("b"))).status).toBe(200);
    expect(limit.mock.calls.map(([{ key }]) => key).join("")).toBe("aab");
  });

  it("lets requests through if it fails", async () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const failing = [
      () => Promise.reject(new Error("down")),
      () => throwing(new Error("down")),
      () => Promise.resolve(),
      undefined,
    ];
    for (const limit of failing) {
      const call = workerWith(authenticator, { RATE_LIMIT: { limit } });
      expect((await call("GET", "/agents", as("a"))).status).toBe(200);
    }
    expect(said).toHaveBeenCalledTimes(failing.length);
  });
});

function throwing(thrown: unknown): never {
  throw thrown;
}
