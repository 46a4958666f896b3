import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { createRuntime } from "../../../src/byref.ts";
import { type Call, callWith, json, newId, ORIGIN, problemIn } from "../../support/edge.ts";
import { ALICE, as, call, newValue, ticketFor } from "../../support/tickets.ts";
import { hmac, tokenOf } from "../../support/tokens.ts";

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

  it("refuses an invalid id, a missing key and GET", async () => {
    const body = { path: "/conversations/a b/socket" };
    const response = await call("POST", "/conversations/a%20b/tickets", json(body, as(ALICE)));
    await problemIn(response, "bad_request");
    const nobody = await call("POST", `/conversations/${id}/tickets`, json(body));
    await problemIn(nobody, "unauthorized");
    expect((await call("GET", `/conversations/${id}/tickets`, { headers: as(ALICE) })).status).toBe(
      404,
    );
  });

  it("creates no conversation, and does not reveal whether one exists", async () => {
    expect((await post({ path: `/conversations/${id}/variables/x` })).status).toBe(201);
    const about = await call("GET", `/conversations/${id}`, { headers: as(ALICE) });
    await problemIn(about, "conversation_not_found");
  });

  it("needs TICKET_SECRET if tokens are checked with public keys, or by the application", async () => {
    const authenticator = () => "alice";
    const { worker } = createRuntime({
      agents: [weather],
      model: () => Promise.reject() as never,
      authenticator,
    });
    const through =
      (settings: object): Call =>
      (method, path, init) =>
        worker.fetch(
          new Request(`${ORIGIN}${path}`, { ...init, method }),
          { ...env, ...settings },
          createExecutionContext(),
        ) as Promise<Response>;
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

  it("signs tickets with JWT_SECRET, too", async () => {
    const JWT_SECRET = "a secret of tokens, which is long";
    const through = callWith({ AUTH: "jwt", JWT_SECRET, JWT_TENANT_CLAIM: "sub" });
    const claims = { sub: "alice", exp: Date.now() / 1_000 + 60 };
    const token = await tokenOf({ alg: "HS256" }, claims, hmac(JWT_SECRET));
    const path = await newValue();
    const ticket = await ticketFor(path, token, through);
    expect(await (await through("GET", `${path}?ticket=${ticket}`)).text()).toBe("alice's");
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
    for (const [name, value, code] of [
      ["host", "evil.example", "foreign_origin"],
      ["origin", "https://evil.example", "foreign_origin"],
      ["sec-fetch-site", "cross-site", "foreign_origin"],
    ] as const) {
      const headers = { [name]: value };
      await problemIn(await local("GET", `${path}?ticket=${ticket}`, { headers }), code);
    }
  });
});
