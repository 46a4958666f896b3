import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { ByrefError } from "../../../src/errors.ts";
import { createRuntime, type Authenticator, settingsAuthenticator } from "../../../src/byref.ts";
import { json, newId, ORIGIN, problemIn } from "../../support/edge.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";

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
    ["null", null],
    ["an empty text", ""],
    ["a number", 1],
    ["true", true],
    ["a list", ["alice"]],
    ["an object without a tenant", { principal: "alice" }],
    ["an object with a list", { tenant: ["alice"] }],
    ["an object as a text", `own:${String({ tenant: "alice" })}`],
    ["an empty principal", { tenant: "alice", principal: "" }],
    ["a principal that is a number", { tenant: "alice", principal: 7 }],
    ["claims that are a text", { tenant: "alice", claims: "admin" }],
    ["claims that are a list", { tenant: "alice", claims: ["admin"] }],
    ["a String", Object("alice")],
    ["a response", new Response("come in")],
    ["too much", "x".repeat(257)],
    ["half a character", "a\udc00"],
    ["a function", () => "alice"],
  ])("lets nobody in by returning %s", async (_, tenant) => {
    for (const authenticator of [() => tenant, async () => tenant]) {
      const call = workerWith(authenticator);
      await problemIn(await call("GET", "/agents"), "unauthorized");
      await problemIn(await call("DELETE", `/conversations/${newId()}`), "unauthorized");
    }
  });

  it.each([["x".repeat(256)], ["ü/💡"], ["__proto__"], ['","'], [" "], ["\0"]])(
    "may name a tenant %j",
    async (tenant) => {
      expect((await workerWith(() => tenant)("GET", "/agents")).status).toBe(200);
    },
  );

  it.each<readonly [string, unknown, "internal" | "unauthorized" | "foreign_origin"]>([
    ["an error", new Error("hunter2: no such session"), "internal"],
    ["a text", "hunter2", "internal"],
    ["nothing", undefined, "internal"],
    ["null", null, "internal"],
    ["a number", 200, "internal"],
    ["a response", new Response("hunter2", { status: 200 }), "internal"],
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
