import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { createRuntime } from "../../../src/byref.ts";
import { scriptedModel } from "byref/testing";
import { callWith, json, newId, ORIGIN, problemIn, type Call } from "../../support/edge.ts";
import { ALICE, as, BOB, call, KEYS, newValue, ticketFor } from "../../support/tickets.ts";
import { base64Url, encode, hmac, tokenOf } from "../../support/tokens.ts";

const APP = "https://app.example";

describe("a ticket", () => {
  it("serves an image and a download to a page of another origin", async () => {
    const through = callWith({ ...KEYS, CORS_ORIGINS: APP });
    const path = await newValue();
    const body = new Uint8Array([137, 80, 78, 71]);
    for (const [type, disposition] of [
      ["image/png", null],
      ["text/html", "attachment"],
    ] as const) {
      await through("PUT", path, { body, headers: { "content-type": type, ...as(ALICE) } });
      const ticket = await ticketFor(path, ALICE, through);
      const response = await through("GET", `${path}?ticket=${ticket}`, {
        headers: { "sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site" },
      });
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(body);
      const headers = Object.fromEntries(response.headers);
      expect(headers).toMatchObject({
        "content-type": type,
        "cross-origin-resource-policy": "cross-origin",
        "referrer-policy": "no-referrer",
        "cache-control": expect.stringContaining("private"),
      });
      expect(headers["content-disposition"] ?? null).toBe(disposition);
    }
    const withKey = await through("GET", path, { headers: as(ALICE) });
    expect(withKey.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    await withKey.text();
  });

  it("opens a socket for an allowed page, and for no other", async () => {
    const through = callWith({ ...KEYS, CORS_ORIGINS: APP });
    const path = `/conversations/${newId()}/socket`;
    const at = `${path}?ticket=${await ticketFor(path)}`;
    const upgrade = (origin: string) =>
      through("GET", at, { headers: { upgrade: "websocket", origin, host: "byref.example" } });
    for (const origin of [APP, "https://byref.example"]) {
      const { status, webSocket } = await upgrade(origin);
      expect(status).toBe(101);
      webSocket?.accept();
      webSocket?.close(1000, "done");
    }
    await problemIn(await upgrade("https://evil.example"), "foreign_origin");
    await problemIn(await upgrade("null"), "foreign_origin");
  });

  it("is valid for a minute", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const path = await newValue();
    const at = `${path}?ticket=${await ticketFor(path)}`;
    vi.setSystemTime(Date.now() + 59_000);
    expect((await call("GET", at)).status).toBe(200);
    vi.setSystemTime(Date.now() + 1_000);
    await problemIn(await call("GET", at), "unauthorized");
    // The clock that made it was an hour ahead, and is set back.
    vi.setSystemTime(Date.now() - 3_600_000);
    await problemIn(await call("GET", at), "unauthorized");
  });

  it("opens nothing but its own path, in its own conversation", async () => {
    const path = await newValue();
    const ticket = await ticketFor(path);
    const other = await newValue("another");
    const base = path.replace("/variables/photo", "");
    const paths = [
      other,
      base,
      `${path}/`,
      `${path}/info`,
      `${base}/variables`,
      `${base}/variables/photo2`,
      `${base}/variables/%70hoto`,
      path.toUpperCase(),
      `${base}/socket`,
      "/agents",
    ];
    for (const at of paths) {
      await problemIn(await call("GET", `${at}?ticket=${ticket}`), "unauthorized");
    }
    // A path that resolves to the ticket's path is allowed.
    expect((await call("GET", `${base}/x/../variables/photo?ticket=${ticket}`)).status).toBe(200);
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "QUERY"])(
    "is refused for %s, even with a key",
    async (method) => {
      const path = await newValue();
      const at = `${path}?ticket=${await ticketFor(path)}`;
      for (const headers of [{}, as(ALICE)]) {
        const response = await call(method, at, { headers });
        expect(response.status).toBe(401);
      }
      expect(await (await call("GET", path, { headers: as(ALICE) })).text()).toBe("alice's");
    },
  );

  it("cannot be forged, changed or cut", async () => {
    const path = await newValue();
    const ticket = await ticketFor(path);
    const [claim = "", signature = ""] = ticket.split(".");
    const [bobs = ""] = (await ticketFor(path, BOB)).split(".");
    const longer = base64Url(encode(JSON.stringify(["alice", Date.now() + 9e9])));
    const all = [
      "",
      ".",
      ALICE,
      `${claim}.`,
      `${bobs}.${signature}`,
      `${longer}.${signature}`,
      `${claim}.${signature.slice(1)}`,
      `${claim}.${signature}.${signature}`,
      ` ${ticket}`,
      `${ticket}%00`,
      `${"A".repeat(100_000)}.${signature}`,
      await tokenOf({ alg: "HS256" }, ["alice", Date.now() + 9e9], hmac(KEYS.API_KEYS)),
    ];
    for (const bad of all) {
      await problemIn(await call("GET", `${path}?ticket=${bad}`), "unauthorized");
    }
    await problemIn(await call("GET", `${path}?ticket=x&ticket=${ticket}`), "unauthorized");
    await problemIn(await call("GET", `${path}?TICKET=${ticket}`), "unauthorized");
    const headers = { authorization: `Bearer ${ticket}`, ticket, cookie: `ticket=${ticket}` };
    await problemIn(await call("GET", path, { headers }), "unauthorized");
  });

  it("is invalid with other keys", async () => {
    const path = await newValue();
    const at = `${path}?ticket=${await ticketFor(path)}`;
    for (const settings of [
      { AUTH: "bearer", API_KEYS: JSON.stringify({ [ALICE]: "alice" }) },
      { ...KEYS, TICKET_SECRET: "a secret of tickets, that is long" },
      { ...KEYS, AUTH: "" },
      { ...KEYS, AUTH: "none" },
    ]) {
      await problemIn(await callWith(settings)("GET", at, {}), "unauthorized");
    }
  });

  it("reaches neither the conversation nor a log", async () => {
    const path = await newValue();
    const ticket = await ticketFor(path);
    const asked: string[] = [];
    const CONVERSATIONS = {
      idFromName: (name: string) => name,
      get: (name: string) => ({
        fetch: async (url: string, init: RequestInit) => {
          asked.push(JSON.stringify([name, url, init, [...new Headers(init.headers)]]));
          throw new Error("not here");
        },
      }),
    };
    const logs = ["log", "warn", "error", "info", "debug"] as const;
    const said = logs.map((name) => vi.spyOn(console, name).mockImplementation(() => undefined));
    const { worker } = createRuntime({ agents: [weather], model: scriptedModel([]) });
    for (const query of [`ticket=${ticket}`, `path=.a&ticket=${ticket}&ticket=x`]) {
      const request = new Request(`${ORIGIN}${path}?${query}`, { headers: { accept: "image/*" } });
      const bindings = { ...env, ...KEYS, CONVERSATIONS } as unknown as Cloudflare.Env;
      const response = await worker.fetch(request, bindings, createExecutionContext());
      expect(JSON.stringify(await problemIn(response, "internal"))).not.toContain("ticket");
    }
    expect(asked).toHaveLength(2);
    expect(asked[1]).toContain("path=.a");
    const errors = said
      .flatMap(({ mock }) => mock.calls.flat())
      // The places that the log names are in this file.
      .map((text) => String(text).replaceAll("tickets.test.ts", ""));
    expect(errors.length).toBeGreaterThan(0);
    for (const text of [...asked, ...errors]) expect(text).not.toContain("ticket");
  });
});

describe("POST …/tickets", () => {
  const id = newId();
  const post = (body: unknown, through: Call = call) =>
    through("POST", `/conversations/${id}/tickets`, json(body, as(ALICE)));

  it.each([
    undefined,
    {},
    { path: "" },
    { path: 5 },
    { path: "/" },
    { path: "variables/photo" },
    { path: `/conversations/${id}` },
    { path: `/conversations/${id}x/variables/photo` },
    { path: `/conversations/${newId()}/variables/photo` },
    { path: `/conversations/${id}/../${newId()}/variables/photo` },
    { path: `/conversations/${id}/%2e%2e/x/variables/photo` },
    { path: `/conversations/${id}/variables/photo?path=.a` },
    { path: `/conversations/${id}/variables/photo#x` },
    { path: `/conversations/${id}\\variables\\photo` },
    { path: `//evil.example/conversations/${id}/variables/photo` },
    { path: `${ORIGIN}/conversations/${id}/variables/photo` },
    { path: ` /conversations/${id}/variables/photo` },
    { path: `/conversations/${id}/variables/a b` },
    { path: `/conversations/${id}/variables/\n` },
    { path: `/conversations/${id}/variables/${"x".repeat(3_000)}` },
    { path: `/conversations/${id}/variables/photo`, tenant: "bob" },
  ])("refuses %j", async (body) => {
    const init = body === undefined ? { headers: as(ALICE) } : json(body, as(ALICE));
    const response = await call("POST", `/conversations/${id}/tickets`, init);
    await problemIn(response, body === undefined ? "unsupported_media_type" : "bad_request");
  });

  it("needs TICKET_SECRET if tokens are checked with public keys, or by the application", async () => {
    const { worker } = createRuntime({
      agents: [weather],
      model: scriptedModel([]),
      authenticator: () => "alice",
    });
    const through =
      (settings: object): Call =>
      async (method, path, init) => {
        const request = new Request(`${ORIGIN}${path}`, { ...init, method });
        return worker.fetch(request, { ...env, ...settings }, createExecutionContext());
      };
    const path = await newValue();
    const body = { path: `/conversations/${id}/variables/x` };
    const problem = await problemIn(await post(body, through({})), "bad_configuration");
    expect(problem.detail).toContain("TICKET_SECRET");
    await problemIn(await through({})("GET", `${path}?ticket=x.y`), "unauthorized");

    const settings = { TICKET_SECRET: "a secret of tickets, that is long" };
    const ticket = await ticketFor(path, ALICE, through(settings));
    const read = await through(settings)("GET", `${path}?ticket=${ticket}`);
    expect(await read.text()).toBe("alice's");
  });

  it("signs tickets with AUTH=none, too, and refuses wrong ones", async () => {
    const local = callWith({ AUTH: "none" });
    const path = `/conversations/${newId()}/variables/photo`;
    await local("PUT", path, json(1));
    const ticket = await ticketFor(path, "", local);
    expect(await (await local("GET", `${path}?ticket=${ticket}`)).json()).toBe(1);
    await problemIn(await local("GET", `${path}?ticket=x`), "unauthorized");
    await problemIn(await local("DELETE", `${path}?ticket=${ticket}`), "unauthorized");
    // A ticket does not replace the checks of a request's origin.
    for (const headers of [
      { host: "evil.example" },
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      const response = await local("GET", `${path}?ticket=${ticket}`, { headers });
      await problemIn(response, "foreign_origin");
    }
  });
});
