import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import worker from "../../../src/index.ts";
import { callWith, json, newId, ORIGIN, problemIn } from "../../support/edge.ts";

/** Routes without authentication. */
const PUBLIC = new Set(["GET /health"]);

/** Every route of the Worker, with a value for each parameter. */
const routes = worker.routes
  .filter(({ method }) => method !== "ALL")
  .map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, "x")}`)
  .filter((route) => !PUBLIC.has(route));

describe("AUTH unset", () => {
  it("has routes to close", () => {
    expect(routes).toContain("POST /conversations");
    expect(routes).toContain("GET /conversations/x/variables/x");
    expect(routes.length).toBeGreaterThan(9);
  });

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

  it("answers 401 on the deployed Worker, whatever is sent", async () => {
    const headers = { authorization: "Bearer undefined", host: "localhost" };
    const response = await exports.default.fetch(`${ORIGIN}/agents`, { headers });
    await problemIn(response, "unauthorized");
  });

  it("names the way out: AUTH=none in .dev.vars for local work", async () => {
    const { detail } = await problemIn(await callWith({})("GET", "/agents"), "unauthorized");
    expect(detail).toContain("AUTH=none into .dev.vars");
  });

  it("answers 401 to a request with a body, too", async () => {
    const response = await callWith({})("POST", "/conversations", json({ id: newId() }));
    await problemIn(response, "unauthorized");
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

  it("keeps out a foreign host in the URL if there is no Host header", async () => {
    await problemIn(
      await withHeaders({}, "http://localhost.evil.example/agents"),
      "foreign_origin",
    );
    await problemIn(await withHeaders({}, "http://192.168.0.1/agents"), "foreign_origin");
  });

  it.each([
    ["localhost:8787", "http://localhost:8787"],
    ["localhost:8787", "https://localhost:8787"],
    ["localhost", "http://localhost"],
    ["[::1]:8787", "http://[::1]:8787"],
  ])("lets the pages of %s call it: %s", async (host, origin) => {
    expect((await withHeaders({ host, origin })).status).toBe(200);
  });

  it.each([
    ["localhost:8787", "http://localhost:3000"],
    ["localhost:8787", "http://localhost"],
    ["localhost:8787", "http://127.0.0.1:8787"],
    ["localhost:8787", "http://localhost:8787.evil.example"],
    ["localhost:8787", "http://evil.example"],
    ["localhost:8787", "ftp://localhost:8787"],
    ["localhost:8787", "localhost:8787"],
    ["localhost", "http://localhost.evil.example"],
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
  const as = (key: string) => ({ authorization: `Bearer ${key}` });

  it.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    `Basic ${alice}`,
    `Basic ${btoa(`${alice}:`)}`,
    alice,
    `Bearer ${alice}x`,
    `Bearer ${alice.slice(0, -1)}`,
    `Bearer x${alice}`,
    `Bearer ${alice.toUpperCase()}`,
    `Bearer ${alice} ${bob}`,
    `Bearer ${alice},${bob}`,
    `Bearer  ${alice}`,
    `Bearer alice`,
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

  it("shows a tenant nothing of another tenant's conversation with the same id", async () => {
    const path = `/conversations/${newId()}`;
    const question = json({ message: "Weather in NYC?" }, { ...as(alice), accept: "text/plain" });
    expect(await (await call("POST", `${path}/messages`, question)).text()).toContain("New York");
    await call("PUT", `${path}/variables/secret`, json("alice's", as(alice)));

    const read = (key: string, rest: string) => call("GET", path + rest, { headers: as(key) });
    expect(await (await read(bob, "/messages")).json()).toEqual({ messages: [] });
    expect(await (await read(bob, "/variables")).json()).toEqual({ variables: [] });
    await problemIn(await read(bob, "/variables/secret"), "variable_not_found");
    await problemIn(await read(bob, "/variables/get_weather_nyc/info"), "variable_not_found");

    const put = await call("PUT", `${path}/variables/secret`, json("bob's", as(bob)));
    expect(put.status).toBe(201);
    const reset = await call("DELETE", `${path}/variables`, { headers: as(bob) });
    expect(await reset.json()).toEqual({ deleted: ["secret"] });
    for (const key of [alice, alice2]) {
      expect(await (await read(key, "/variables/secret")).text()).toBe("alice's");
      const { messages } = await (await read(key, "/messages")).json<{ messages: unknown[] }>();
      expect(messages).toHaveLength(2);
    }
  });
});

describe("bad settings", () => {
  const SECRET = "hunter2-hunter2-hunter2";

  it.each([
    ["AUTH", { AUTH: SECRET }],
    ["AUTH", { AUTH: "None" }],
    ["API_KEYS", { AUTH: "bearer" }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: SECRET }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": "t"` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `["${SECRET}"]` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `"${SECRET}"` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": 5}` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"${SECRET}": ""}` }],
    ["API_KEYS", { AUTH: "bearer", API_KEYS: `{"hunter2": "t"}` }],
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

  it("say how long a key must be if it is too short", async () => {
    const settings = { AUTH: "bearer", API_KEYS: `{"hunter2": "t"}` };
    const problem = await problemIn(
      await callWith(settings)("GET", "/agents"),
      "bad_configuration",
    );
    expect(problem.detail).toContain("16 characters");
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
