import { describe, expect, it, vi, afterEach } from "vitest";
import { callWith, ORIGIN, problemIn, newId, json } from "../../support/edge.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { weather } from "../../../examples/agents/weather.ts";
import { ByrefError } from "../../../src/errors.ts";
import { createRuntime, type Authenticator, settingsAuthenticator } from "../../../src/byref.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";

/** Every route of the Worker, with a key: test/edge/auth/requests.test.ts. */
const routes = ["GET /agents", "POST /conversations", "GET /conversations/x/variables/x"];

describe("AUTH unset", () => {
  it.each([...routes, "GET /nowhere", "OPTIONS /conversations", "PATCH /health"])(
    "answers 401 to %s",
    async (route) => {
      const [method = "", path = ""] = route.split(" ");
      const settings = [{}, { AUTH: "" }];
      for (const setting of settings) {
        const response = await callWith(setting)(method, path, { headers: { host: "localhost" } });
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        await problemIn(response, "unauthorized");
      }
    },
  );

  it("names the way out: AUTH=none in .dev.vars for local work", async () => {
    const { detail } = await problemIn(await callWith({})("GET", "/agents"), "unauthorized");
    expect(detail).toContain("AUTH=none into .dev.vars");
  });
});

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

  it.each([...foreign.split(" "), "localhost,evil.example", ""])(
    "keeps the host %j out",
    async (host) => {
      await problemIn(await withHeaders({ host }), "foreign_origin");
    },
  );

  it.each([
    ["localhost:8787", "http://localhost:8787"],
    ["localhost", "http://localhost"],
    ["[::1]:8787", "http://[::1]:8787"],
  ])("lets the pages of %s call it: %s", async (host, origin) => {
    expect((await withHeaders({ host, origin })).status).toBe(200);
  });

  it.each([
    ["localhost:8787", "http://localhost:3000"],
    ["localhost:8787", "http://localhost"],
    ["localhost:8787", "http://localhost:8787.evil.example"],
    ["localhost:8787", "ftp://localhost:8787"],
    ["localhost:8787", "localhost:8787"],
    ["localhost", "null"],
  ])("keeps other pages out: host %s, origin %s", async (host, origin) => {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      const path = "/conversations/x/variables/x";
      await problemIn(await call(method, path, { headers: { host, origin } }), "foreign_origin");
    }
  });

  it("lets only the pages of CORS_ORIGINS call it", async () => {
    const call = callWith({ AUTH: "none", CORS_ORIGINS: "https://a.example, https://b.example" });
    const from = (origin: string) => call("GET", "/agents", { headers: { origin } });
    expect((await from("https://a.example")).status).toBe(200);
    expect((await from("https://b.example")).status).toBe(200);
    const foreign =
      "https://a.example:8443 http://a.example https://a https://a.example.evil https://b.example,";
    for (const origin of [...foreign.split(" "), "https://a.example, https://b.example"]) {
      await problemIn(await from(origin), "foreign_origin");
    }
  });
});

describe("AUTH=bearer", () => {
  const [alice, alice2, bob] = [
    "alice-key-0123456789",
    "alice-key-9876543210",
    "bob-key-0123456789",
  ];
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

  it.each([
    ["AUTH", { AUTH: SECRET }],
    ["API_KEYS", { AUTH: "bearer" }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: SECRET }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": "t"` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `["${SECRET}"]` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": 5}` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": ""}` }],
    ["API_KEYS", { AUTH: "none", API_KEYS: SECRET }],
    ["MODEL_BASE_URL", { AUTH: "none", MODEL_BASE_URL: SECRET }],
    ["MODEL_BASE_URL", { AUTH: "none", MODEL_BASE_URL: `ftp://user:${SECRET}@host.example` }],
  ])("are refused naming %s, but no value: %j", async (name, settings) => {
    const response = await callWith(settings)("GET", "/agents");
    const problem = await problemIn(response, "bad_configuration");
    expect(problem.detail).toContain(name);
    expect(JSON.stringify(problem)).not.toContain("hunter2");
    expect(JSON.stringify([...response.headers])).not.toContain("hunter2");
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

const KEY = "alice-key-0123456789";

describe("API_KEYS", () => {
  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ["a short key", { hunter2: "t" }],
    ["a key that is invalid in a header", { "hunter2 with spaces in": "t" }],
    ["a non-ASCII key", { "hunter2-hünter2-hunter2": "t" }],
    ["a key that is too long", { ["hunter2".repeat(100)]: "t" }],
    ["a tenant that is too long", { "hunter2-hunter2-hunter2": "t".repeat(257) }],
    ["a tenant that is half a character", { "hunter2-hunter2-hunter2": "\ud800" }],
    ["a tenant that is a list", { "hunter2-hunter2-hunter2": ["t"] }],
  ])("are refused with %s, and not shown", async (_, keys) => {
    const call = callWith({ AUTH: "bearer", API_KEYS: JSON.stringify(keys) });
    const { detail } = await problemIn(await call("GET", "/agents"), "bad_configuration");
    expect(detail).toContain("API_KEYS must be JSON");
    expect(detail).not.toContain("hunter2");
  });

  it("are all compared in constant time, wherever the right one is", async () => {
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
    compare.mockRestore();
  });
});

describe("cors", () => {
  const APP = "http://localhost:5173";
  const withCors = callWith({ AUTH: "none", CORS_ORIGINS: `${APP}, https://app.example` });
  const without = callWith({ AUTH: "none" });
  const preflight = (origin: string) => ({
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    },
  });

  describe("CORS_ORIGINS", () => {
    it.each([APP, "https://app.example"])("lets pages of %s call", async (origin) => {
      const asked = await withCors("OPTIONS", "/conversations", preflight(origin));
      expect(asked.status).toBe(204);
      expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
      expect(asked.headers.get("access-control-allow-methods")).toContain("POST");
      expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
      const answer = await withCors("GET", "/agents", { headers: { origin } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    });

    it("lets them write with conditions, and read a value's headers", async () => {
      const asked = await withCors("OPTIONS", "/conversations/x/variables/a", {
        headers: {
          origin: APP,
          "access-control-request-method": "PUT",
          "access-control-request-headers": "content-type,if-match",
        },
      });
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        expect(asked.headers.get("access-control-allow-methods")).toContain(method);
      }
      expect(asked.headers.get("access-control-allow-headers")).toContain("if-match");
      const at = `/conversations/${newId()}/variables/a`;
      const headers = { origin: APP, "content-type": "text/plain" };
      await (await withCors("PUT", at, { body: "text", headers })).text();
      const range = { origin: APP, range: "bytes=1-2" };
      const part = await withCors("GET", at, { headers: range });
      expect([part.status, await part.text()]).toEqual([206, "ex"]);
      const exposed = part.headers.get("access-control-expose-headers")?.toLowerCase();
      for (const name of ["etag", "location", "content-range", "accept-ranges"]) {
        expect(exposed).toContain(name);
      }
      // The content gives pages of other sites no access, whichever origin may call.
      expect(part.headers.get("access-control-allow-origin")).toBe(APP);
      expect(part.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    });

    it("is off unless it names an origin", async () => {
      const asked = await without("OPTIONS", "/conversations", preflight(APP));
      expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    });
  });

  it("a page of another site that sends no Origin is refused by its browser's Sec-Fetch-Site header", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    await problemIn(await without("GET", "/agents", { headers }), "foreign_origin");
    for (const site of ["same-origin", "none", "same-site"]) {
      const response = await without("GET", "/agents", { headers: { "sec-fetch-site": site } });
      expect(response.status).toBe(200);
    }
  });
});

describe("foreign pages", () => {
  const ALICE = "alice-key-0123456789";
  const APP = "https://app.example";
  const keys = {
    AUTH: "bearer",
    API_KEYS: JSON.stringify({ [ALICE]: "alice" }),
    CORS_ORIGINS: APP,
  };
  const call = callWith(keys);
  const as = (key: string) => ({ authorization: `Bearer ${key}` });

  /** Stores a value that no page of another site may read, and returns its path. */
  async function newSecret(): Promise<string> {
    const path = `/conversations/${newId()}/variables/diary`;
    expect((await call("PUT", path, json("Dear diary", as(ALICE)))).status).toBe(201);
    return path;
  }

  describe("a page of another origin", () => {
    const preflight = (origin: string, method = "DELETE") => ({
      headers: {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,x-byref-local",
      },
    });
    const foreign =
      "https://evil.example null https://app.example.evil http://app.example https://APP.example " +
      "https://app.example:8443 https://app.example/ https://sub.app.example file:// * undefined";

    it.each(foreign.split(" "))("%s may not even ask", async (origin) => {
      const path = await newSecret();
      const asked = await call("OPTIONS", path, preflight(origin));
      expect(asked.headers.get("access-control-allow-origin")).toBeNull();
      expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
      // Requests that are sent anyway get no readable answer.
      const headers = { origin, ...as(ALICE) };
      const read = await call("GET", path, { headers });
      expect(read.headers.get("access-control-allow-origin")).toBeNull();
      expect(read.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      await read.text();
    });

    it("that is allowed can read why it was refused", async () => {
      const response = await call("GET", await newSecret(), { headers: { origin: APP } });
      expect(response.headers.get("access-control-allow-origin")).toBe(APP);
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
      expect(response.headers.get("vary")?.toLowerCase()).toContain("origin");
      await problemIn(response, "unauthorized");
    });

    it.each([
      "foo",
      "null",
      "https://app.example/path",
      "https://*.example",
      "https://user:hunter2@app.example",
      "https://app.example:443",
      "https://app.example,",
      "https://app.example https://other.example",
      "ftp://app.example",
      "https://app.example, foo",
    ])("cannot be allowed by CORS_ORIGINS=%s", async (CORS_ORIGINS) => {
      const through = callWith({ ...keys, CORS_ORIGINS });
      for (const init of [{ headers: as(ALICE) }, preflight("foo")]) {
        const response = await through("OPTIONS", "/agents", init);
        expect(response.headers.get("access-control-allow-origin")).toBeNull();
        const { detail } = await problemIn(response, "bad_configuration");
        expect(detail).toContain(
          "CORS_ORIGINS must be origins, separated by commas: https://app.example",
        );
        expect(detail).not.toContain("hunter2");
      }
    });
  });
});

describe("own authenticators", () => {
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

  afterEach(() => {
    vi.restoreAllMocks();
  });

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

    it.each<readonly [string, unknown]>([
      ["nothing", undefined],
      ["an empty text", ""],
      ["a number", 1],
      ["an object without a tenant", { principal: "alice" }],
      ["an object with a list", { tenant: ["alice"] }],
      ["an empty principal", { tenant: "alice", principal: "" }],
      ["a principal that is a number", { tenant: "alice", principal: 7 }],
      ["claims that are a list", { tenant: "alice", claims: ["admin"] }],
      ["a String", Object("alice")],
      ["too much", "x".repeat(257)],
      ["half a character", "a\udc00"],
    ])("lets nobody in by returning %s", async (_, tenant) => {
      for (const authenticator of [() => tenant, async () => tenant]) {
        const call = workerWith(authenticator);
        await problemIn(await call("GET", "/agents"), "unauthorized");
        await problemIn(await call("DELETE", `/conversations/${newId()}`), "unauthorized");
      }
    });

    it.each<readonly [string, unknown, "internal" | "unauthorized" | "foreign_origin"]>([
      ["an error", new Error("hunter2: no such session"), "internal"],
      ["nothing", undefined, "internal"],
      ["an object", { code: "ok", status: 200, message: "hunter2" }, "internal"],
      [
        "an unreadable object",
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("no");
            },
          },
        ),
        "internal",
      ],
      ["a refusal of ours", new ByrefError("unauthorized", "Log in first."), "unauthorized"],
      ["another refusal", new ByrefError("foreign_origin", "Not from there."), "foreign_origin"],
    ])("lets nobody in by throwing %s", async (_, thrown, code) => {
      vi.spyOn(console, "error").mockImplementation(() => undefined);
      const authenticators = [
        () => {
          throw thrown;
        },
        () => Promise.reject(thrown),
      ];
      for (const authenticator of authenticators) {
        const call = workerWith(authenticator);
        for (const [method, path] of [
          ["GET", "/agents"],
          ["GET", `/conversations/${newId()}`],
          ["POST", "/conversations"],
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

    it("is applied to each tenant", async () => {
      const left = new Map([["a", 2]]);
      const limit = vi.fn(async ({ key }: { key: string }) => {
        const count = left.get(key) ?? 1_000;
        left.set(key, count - 1);
        return { success: count > 0 };
      });
      const call = workerWith(authenticator, { RATE_LIMIT: { limit } });
      for (let times = 0; times < 2; times++) {
        expect((await call("GET", "/agents", as("a"))).status).toBe(200);
      }
      const refused = await call("GET", "/agents", as("a"));
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(refused.status).toBe(429);
      await problemIn(refused, "rate_limited");
      const path = `/conversations/${newId()}/variables/a`;
      await problemIn(await call("PUT", path, json(1, { cookie: "a" })), "rate_limited");
      expect((await call("GET", "/agents", as("b"))).status).toBe(200);
      expect(limit.mock.calls.map(([{ key }]) => key).join("")).toBe("aaaab");
    });

    it("is not called for unauthorized requests, nor for /health", async () => {
      const limit = vi.fn(async () => ({ success: true }));
      const call = workerWith(authenticator, { RATE_LIMIT: { limit } });
      await problemIn(await call("GET", "/agents"), "unauthorized");
      await problemIn(await call("GET", "/agents?ticket=x", as("a")), "unauthorized");
      await call("GET", "/health");
      expect(limit).not.toHaveBeenCalled();
    });

    it("lets requests through if it fails", async () => {
      const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
      const failing = [
        () => Promise.reject(new Error("down")),
        () => {
          throw new Error("down");
        },
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
});
