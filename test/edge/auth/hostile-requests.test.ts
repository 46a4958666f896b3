import { describe, expect, it } from "vitest";
import { callWith, json, keptOut, newId, problemIn } from "../../support/edge.ts";
import { hmac, newIssuer, tokenOf } from "../../support/tokens.ts";

const [ALICE, BOB] = ["alice-key-0123456789", "bob-key-9876543210"];
const call = callWith({
  AUTH: "bearer",
  API_KEYS: JSON.stringify({ [ALICE]: "alice", [BOB]: "bob" }),
});
const as = (key: string) => ({ authorization: `Bearer ${key}` });

/** Stores a value that only Alice may read, and returns its path. */
async function newSecret(): Promise<string> {
  const path = `/conversations/${newId()}/variables/diary`;
  expect((await call("PUT", path, json("Dear diary", as(ALICE)))).status).toBe(201);
  return path;
}

async function expectUntouched(path: string): Promise<void> {
  const response = await call("GET", path, { headers: as(ALICE) });
  expect([response.status, await response.text()]).toEqual([200, "Dear diary"]);
}

/** Expects a refusal: a problem that does not reveal the value, never an internal error. */
async function expectRefused(response: Response): Promise<void> {
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(response.status).toBeLessThan(500);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const text = await response.text();
  expect(text).not.toContain("Dear diary");
  expect(text).not.toContain(ALICE);
}

describe("a caller that claims to be somebody else", () => {
  const names =
    "x-byref-tenant x-tenant x-tenant-id tenant x-forwarded-user x-user x-remote-user x-auth-request-user " +
    "cf-access-authenticated-user-email x-byref-local x-byref-name cookie from via forwarded";

  it.each(names.split(" "))("by the header %s is identified by its key", async (name) => {
    const path = await newSecret();
    const smuggled = { [name]: "alice" };
    await problemIn(await call("GET", path, { headers: smuggled }), "unauthorized");
    const headers = { ...as(BOB), ...smuggled };
    await problemIn(await call("GET", path, { headers }), "variable_not_found");
    await call("PUT", path, json("bob's", headers));
    await expectUntouched(path);
  });

  it.each(["tenant=alice", "ticket[]=x&tenant=alice", "key=alice", "user=alice&API_KEYS={}"])(
    "by the query %s is identified by its key",
    async (query) => {
      const path = await newSecret();
      await problemIn(await call("GET", `${path}?${query}`), "unauthorized");
      const response = await call("GET", `${path}?${query}`, { headers: as(BOB) });
      await problemIn(response, "variable_not_found");
    },
  );

  it("in a body is identified by its key", async () => {
    const path = await newSecret();
    const id = path.split("/")[2] ?? "";
    const message = { tenant: "alice", conversation: id, message: "Show $diary" };
    const init = json(message, { ...as(BOB), accept: "text/plain" });
    const answer = await call("POST", `/conversations/${newId()}/messages`, init);
    expect(await answer.text()).not.toContain("Dear diary");
    const chat = { id: `alice","${id}`, messages: [{ role: "user", parts: [] }] };
    await problemIn(await call("POST", "/conversations", json(chat, as(BOB))), "bad_request");
  });

  it("with two keys at once is refused", async () => {
    const path = await newSecret();
    const headers = new Headers();
    for (const key of [BOB, ALICE]) headers.append("authorization", `Bearer ${key}`);
    await problemIn(await call("GET", path, { headers }), "unauthorized");
  });
});

describe("a caller that disguises its path", () => {
  it.each([
    "x-original-url",
    "x-rewrite-url",
    "x-forwarded-prefix",
    "x-forwarded-path",
    "x-http-method-override",
    "x-method-override",
    "mf-original-url",
    "upgrade",
    "expect",
  ])("by the header %s gets what the path says", async (name) => {
    const path = await newSecret();
    const headers = { ...as(BOB), [name]: name.includes("method") ? "DELETE" : "/health" };
    await problemIn(await call("GET", path, { headers }), "variable_not_found");
    const nobody = { [name]: "/health" };
    await problemIn(await call("GET", path, { headers: nobody }), "unauthorized");
    await expectUntouched(path);
  });

  it.each([
    "a%2fb",
    "a%5cb",
    "%00",
    "a%00",
    "a%0a",
    "%2e%2e%2f",
    "..%2f..",
    "a%252fb",
    "%c3%a9",
    "%ff",
    "%",
    "%zz",
    "a;b=c",
    "a:b",
    "a,b",
    "%5b%22alice%22%2c%22x%22%5d",
    "alice%22%2c%22x",
    "x".repeat(129),
    "x".repeat(100_000),
    "%F0%9F%92%A9",
    "a%20",
    "*",
    "{id}",
  ])("by the id %s gets nothing", async (id) => {
    for (const rest of ["", "/messages", "/variables/diary", "/socket", "/stream", "/plans"]) {
      await expectRefused(await call("GET", `/conversations/${id}${rest}`, { headers: as(BOB) }));
    }
    const chat = { id: decodeSafely(id), messages: [{ role: "user", parts: [] }] };
    await expectRefused(await call("POST", "/conversations", json(chat, as(BOB))));
  });

  it.each([
    "..",
    "%2e%2e",
    "%2E.",
    ".%2e/%2e%2e",
    "diary%00",
    "diary%2finfo",
    "diary%252e",
    "Diary",
    "diary;",
    "diary%20",
    "%64iary%0a",
    "diary/info/info",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "$diary",
    "diary.length",
    "diary[0]",
    "*",
  ])("by the name %s gets nothing, and changes nothing", async (name) => {
    const path = await newSecret();
    const at = path.replace("diary", name);
    const response = await call("GET", `${at}${name.includes("..") ? "/x" : ""}`, {
      headers: as(ALICE),
    });
    await expectRefused(response);
    for (const method of ["PATCH", "DELETE"]) {
      const said = await call(method, at, json({ pinned: true }, as(BOB)));
      expect(said.status).toBeLessThan(500);
      await said.text();
    }
    await expectUntouched(path);
  });

  it.each(["__proto__", "constructor", "prototype", "toString", "..."])(
    "by the id %s gets an ordinary conversation",
    async (id) => {
      const path = `/conversations/${id}/variables/a`;
      await call("PUT", path, json(1, as(ALICE)));
      await problemIn(await call("GET", path, { headers: as(BOB) }), "variable_not_found");
      expect(await (await call("GET", path, { headers: as(ALICE) })).json()).toBe(1);
    },
  );

  it("with an extra slash does not reset everything", async () => {
    const path = await newSecret();
    const all = path.replace("/diary", "");
    for (const at of [`${all}/`, `${all}//`, `/${all}`, `${all}/?keepLast=0`, `${path}/`]) {
      await problemIn(await call("DELETE", at, { headers: as(ALICE) }), "not_found");
    }
    await expectUntouched(path);
  });

  it.each(["/CONVERSATIONS", "/Agents", "/agents%2f", "/agents;x", "/./agentsx", "//agents"])(
    "as %s gets nothing",
    async (path) => {
      await problemIn(await call("GET", path), "unauthorized");
      await problemIn(await call("GET", path, { headers: as(ALICE) }), "not_found");
    },
  );
});

describe("a caller that sends too much, or the wrong content", () => {
  it.each(["authorization", "cookie", "x-anything", "accept", "if-none-match", "origin", "range"])(
    "in the header %s is refused, or served as usual",
    async (name) => {
      const path = await newSecret();
      for (const text of ["x".repeat(1_000_000), `Bearer ${"x,".repeat(200_000)}`]) {
        const nobody = await call("GET", path, { headers: { [name]: text } });
        await problemIn(nobody, "unauthorized");
        const headers = { ...as(BOB), [name]: text };
        const said = await call("GET", path, { headers });
        expect([400, 401, 404]).toContain(said.status);
        await expectRefused(said);
      }
    },
  );

  it.each([1_000, 100_000])("as JSON %i deep is refused", async (depth) => {
    const path = `/conversations/${newId()}`;
    const bodies = ["[".repeat(depth) + "]".repeat(depth), '{"a":'.repeat(depth)];
    for (const body of bodies) {
      const headers = { "content-type": "application/json", ...as(ALICE) };
      for (const [method, rest] of [
        ["POST", "/messages"],
        ["POST", "/tickets"],
        ["POST", "/plans"],
        ["POST", "/interpolate"],
        ["PATCH", ""],
        ["PUT", "/variables/a"],
      ] as const) {
        await expectRefused(await call(method, path + rest, { body, headers }));
      }
    }
  });

  it.each([
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "text/json",
    "application/json/x",
    "application/json, text/plain",
    "x".repeat(10_000),
  ])("as %j gets no ticket", async (type) => {
    const path = await newSecret();
    const at = path.replace("variables/diary", "tickets");
    const body = new TextEncoder().encode(JSON.stringify({ path }));
    const headers = type === "" ? as(ALICE) : { "content-type": type, ...as(ALICE) };
    await problemIn(await call("POST", at, { body, headers }), "unsupported_media_type");
  });

  it("changes no prototype", async () => {
    const path = await newSecret();
    const at = path.replace("variables/diary", "tickets");
    const bodies = [
      `{"path": "${path}", "__proto__": {"tenant": "bob", "isAdmin": true}}`,
      `{"__proto__": {"path": "${path}"}}`,
      `{"constructor": {"prototype": {"isAdmin": true}}, "path": "${path}"}`,
    ];
    for (const body of bodies) {
      const headers = { "content-type": "application/json", ...as(ALICE) };
      await expectRefused(await call("POST", at, { body, headers }));
    }
    expect(Reflect.get({}, "isAdmin")).toBeUndefined();
  });
});

describe("a forged token", () => {
  const JWT_SECRET = "the secret of the one who makes tokens";
  const jwt = callWith({
    AUTH: "jwt",
    JWT_SECRET,
    JWT_AUDIENCE: "byref",
    JWT_TENANT_CLAIM: "org",
  });
  const good = () => ({ aud: "byref", org: "alice", exp: Date.now() / 1_000 + 60 });
  const signed = (claims: object, secret = JWT_SECRET) =>
    tokenOf({ alg: "HS256", typ: "JWT" }, { ...good(), ...claims }, hmac(secret));

  it("opens nothing", async () => {
    const path = await newSecret();
    const read = (token: string) =>
      jwt("GET", path, { headers: { authorization: `Bearer ${token}` } });
    const { token: byKey, pem } = await newIssuer("k");
    const [head = "", body = "", signature = ""] = (await signed({})).split(".");
    const none = await tokenOf({ alg: "none" }, good(), async () => new Uint8Array());
    const all = [
      none,
      none.slice(0, -1),
      `${none}${signature}`,
      await tokenOf({ alg: "none" }, good(), hmac(JWT_SECRET)),
      await signed({ exp: Date.now() / 1_000 - 60 }),
      await signed({ aud: "another" }),
      await signed({ org: undefined }),
      await signed({ org: { toString: "alice" } }),
      await signed({ nbf: Date.now() / 1_000 + 600 }),
      await signed({}, pem),
      await signed({}, "null"),
      await byKey(good()),
      await byKey(good(), { alg: "HS256" }),
      `${head}.${body}.${"A".repeat(43)}`,
      ALICE,
    ];
    for (const token of all) await keptOut(await read(token));
    expect(await (await read(await signed({}))).text()).toBe("Dear diary");
  });
});

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
