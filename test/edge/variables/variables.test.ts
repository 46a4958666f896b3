import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { call, get, newId, objectOf, problemIn, put, json } from "../../support/edge.ts";
import { httpCases } from "../../support/http-cases.ts";
import { slow } from "../../support/slow.ts";
import { getWith, putAs, TEXT, anyBytes, NDJSON } from "../../support/values.ts";
import { leaksIn, SECRET, watchConsole } from "../../support/leaks.ts";

const JSON_TYPE = "application/json";
const raw = (body: string, type = JSON_TYPE) => ({ body, headers: { "content-type": type } });
const listed = (...names: readonly string[]) => ({ variables: names.map((name) => ({ name })) });
const manyNames = Array.from({ length: limits.maxItems + 1 }, (_, n) => `n${n}`).join();
const DEEP = {
  list: [{ id: 1, name: "é€😀z" }, { id: 2 }, { other: 3 }],
  "a b": { "x]y": "quoted" },
  nothing: null,
};
const at = (path: string) => `GET /variables/a?path=${encodeURIComponent(path)}`;
const ONE = json(1);
const isJson = { "content-type": JSON_TYPE };
const markdown = { headers: { accept: "text/markdown" } };
/** `PATCH` bodies that are refused. The schema of the others: test/edge-node/endpoints.test.ts. */
const CHANGES = [{}, { ttl: 0 }, { ttl: "1" }, { pinned: 1 }, { value: 2 }, { version: 7 }, [], 5];
const BYTES = anyBytes(1_000);
const range = (bytes: string) => ({ headers: { range: `bytes=${bytes}` } });
const tooLong = (text: string) =>
  [raw(text), "body_too_large", { limit: "maxJsonBytes", maximum: limits.maxJsonBytes }] as const;
const longest = JSON.stringify(["x".repeat(limits.maxJsonBytes - 4)]);
const TEMPLATE =
  "Hi {{v.user.name}}, {{v.list}} `{{v.list[1].a}}` https://a.example/{{v.list[0]}} {{nobody}} {{v.nope}}";

httpCases({
  "PUT creates with 201, replaces with 200; both return the info": [
    ["PUT /variables/a", raw("[1, 2]"), 201, { name: "a", version: 1, type: "array", count: 2 }],
    ["GET /variables/a/info", 200, { name: "a", version: 1, type: "array", count: 2, bytes: 6 }],
    ["PUT /variables/a", raw("two", `${TEXT}; charset=utf-8`), 200, { version: 2, count: 3 }],
    ["GET /variables/a", 200, "two"],
  ],
  "PUT takes ttl, pin and description from the query, and a replacement keeps them": [
    ["PUT /variables/a?ttl=60&pin=true&description=Of%20today%20%E2%82%AC", ONE, 201],
    ["PUT /variables/a", ONE, 200, { pinned: true, description: "Of today €" }],
    ["GET /variables/a/info", 200, { expiresAt: expect.any(String) }],
    [`PUT /variables/a?pin=false&ttl=315360000&description=${"x".repeat(500)}`, ONE, 200],
    ["GET /variables/a/info", 200, { pinned: false, description: "x".repeat(500) }],
  ],
  // The meaning of paths: test/value/path.test.ts.
  "?path= selects a part": [
    ["PUT /variables/a", json(DEEP), 201],
    [at(""), 200, JSON.stringify(DEEP), isJson],
    [at(".list[0].name"), 200, '"é€😀z"', isJson],
    [at(".list[*].id"), 200, "[1,2]", isJson],
    [at('["a b"]["x]y"]'), 200, '"quoted"', isJson],
    [at(".nothing"), 200, "null", isJson],
  ],
  "the list has all, the newest few, or the named ones; oldest first": [
    ["GET /variables", 200, listed()],
    ...["c", "a", "b"].map((name) => [`PUT /variables/${name}`, ONE, 201] as const),
    ["PUT /variables/c", ONE, 200],
    ["GET /variables", 200, listed("a", "b", "c")],
    ["GET /variables?last=2", 200, listed("b", "c")],
    ["GET /variables?last=0", 200, listed()],
    ["GET /variables?last=99", 200, listed("a", "b", "c")],
    ["GET /variables?names=c,none,a", 200, { ...listed("a", "c"), missing: ["none"] }],
    ["GET /variables?names=a,b&last=1", 200, { ...listed("b"), missing: [] }],
    ["GET /variables?names=b,no,b,no,Not%20a%20name", 200, { missing: ["no", "Not a name"] }],
    ["GET /variables?names=", 200, listed()],
    ["GET /variables?last=1", 200, expect.not.objectContaining({ missing: expect.anything() })],
    [`GET /variables?names=${manyNames}`, "limit_exceeded"],
  ],
  "the list as Markdown shows type, items, description, time and preview of each": [
    ["PUT /variables/data?description=Customers%20in%20CA", json([{ id: 0, name: "Ada" }]), 201],
    ["PUT /variables/statistics", json({ mean: 156.4 }), 201],
    [
      "GET /variables",
      markdown,
      200,
      /^# Variables Summary\n\n## data\n\n- Type: array\n- Items: 1\n- Description: Customers in CA\n- Created: 20.*\n- Value Preview: \[\{"id":0,"name":"Ada"\}\]\n\n## statistics\n\n- Type: object\n- Items: 1\n/,
      { "content-type": "text/markdown; charset=utf-8" },
    ],
  ],
  "DELETE resets all, or all but the newest few; pinned ones stay and do not count": [
    ["DELETE /variables", 200, { deleted: [] }],
    ...["a?pin=true", "b", "c", "d?pin=true", "e"].map(
      (name) => [`PUT /variables/${name}`, ONE, 201] as const,
    ),
    ["DELETE /variables?keepLast=3", 200, { deleted: [] }],
    ["DELETE /variables?keepLast=1", 200, { deleted: ["b", "c"] }],
    ["GET /variables", 200, listed("a", "d", "e")],
    ["DELETE /variables", 200, { deleted: ["e"] }],
    ["DELETE /variables?keepLast=0", 200, { deleted: [] }],
    ["GET /variables", 200, listed("a", "d")],
  ],
  "POST without a name saves under the next automatic name, and returns its location": [
    ["PUT /variables/variable_2", json(["taken"]), 201],
    [
      "POST /variables?ttl=3600&description=posted",
      json([1]),
      201,
      { name: "variable_3", version: 1, description: "posted", sources: ["caller"] },
      { location: expect.stringMatching(/\/conversations\/[\w-]+\/variables\/variable_3$/) },
    ],
    ["POST /variables", json([1]), 201, { name: "variable_4" }],
    ["GET /variables/variable_3", 200, "[1]"],
    ["GET /variables/variable_2", 200, '["taken"]'],
  ],
  "?mode= appends to an array, merges into an object, and refuses what does not fit": [
    ["PUT /variables/v?mode=append", json([1]), 201],
    ["PUT /variables/v?mode=append", json(2), 200],
    ["GET /variables/v", 200, "[1,2]"],
    ["PUT /variables/o", json({ a: { b: 1 } }), 201],
    ["PUT /variables/o?mode=merge", json({ a: { c: 2 } }), 200],
    ["PUT /variables/o?mode=append", json("text"), "bad_value"],
    ["PUT /variables/o?mode=overwrite", ONE, "bad_request"],
    ["GET /variables/o", 200, '{"a":{"b":1,"c":2}}'],
  ],
  "PATCH changes metadata, and leaves value, version and order": [
    ["PUT /variables/v?ttl=100", json([1]), 201],
    ["PUT /variables/later", json(2), 201],
    [
      "PATCH /variables/v",
      json({ ttl: null, pinned: true, description: "kept" }),
      200,
      expect.not.objectContaining({ expiresAt: expect.anything() }),
    ],
    ["GET /variables/v/info", 200, { version: 1, pinned: true, description: "kept" }],
    ["GET /variables/v", 200, "[1]"],
    ["GET /variables", 200, listed("v", "later")],
    ...CHANGES.map((body) => ["PATCH /variables/v", json(body), "bad_request"] as const),
  ],
  "interpolate resolves mustaches, also in code and URLs, and lists unresolved ones": [
    ["PUT /variables/v", json({ user: { name: "Ada" }, list: [1, { a: "b" }] }), 201],
    [
      "POST /interpolate",
      json({ text: TEMPLATE }),
      200,
      {
        text: 'Hi Ada, [1,{"a":"b"}] `b` https://a.example/1 {{nobody}} {{v.nope}}',
        unresolved: [
          { reference: "{{nobody}}", code: "variable_not_found" },
          { reference: "{{v.nope}}", code: "path_not_found" },
        ],
      },
    ],
    ...[{}, { text: 1 }, { text: "a", syntax: "percent" }].map(
      (body) => ["POST /interpolate", json(body), "bad_request"] as const,
    ),
  ],
  "the variable named input comes with a message, and cannot be changed afterwards": [
    ["PUT /variables/input", ONE, "bad_name"],
    ["DELETE /variables/input", "bad_name"],
    ["PATCH /variables/input", json({ pinned: true }), "bad_name"],
  ],
  "earlier versions of a secret are not kept, and those of a sealed variable are for people": [
    ["PUT /variables/a", ONE, 201],
    ["PUT /variables/a?visibility=sealed", json(2), 200],
    ["GET /variables/a?version=1", 200, "1"],
    ["PUT /variables/a?visibility=secret", json(3), 200],
    ["GET /variables/a?version=2", "variable_secret"],
  ],
  // Parsing of the header is tested in test/edge-node/request-headers.test.ts.
  "Range returns a part, or the size if it is out of range": [
    ["PUT /variables/a", { body: BYTES, headers: { "content-type": "image/png" } }, 201],
    [
      "GET /variables/a",
      range("990-5000"),
      206,
      BYTES.subarray(990),
      {
        "content-range": "bytes 990-999/1000",
        "content-type": "image/png",
        "accept-ranges": "bytes",
        "content-security-policy": "sandbox; default-src 'none'",
      },
    ],
    [
      "GET /variables/a",
      range("1000-"),
      "range_not_satisfiable",
      { size: 1_000 },
      { "content-range": "bytes */1000" },
    ],
  ],
  "a sealed value can be read by the caller, and no write opens it": [
    ["PUT /variables/s?visibility=sealed", json([SECRET]), 201, { shape: "string[]" }],
    ["GET /variables/s?path=[0]", 200, JSON.stringify(SECRET)],
    ...["s", "s?mode=append", "s?mode=append&visibility=model"].map(
      (at) => [`PUT /variables/${at}`, json([1]), 200, { visibility: "sealed" }] as const,
    ),
    [
      "PUT /variables/s?mode=append&visibility=secret",
      ONE,
      200,
      { visibility: "secret", preview: "" },
    ],
    ["GET /variables/s", "variable_secret"],
    ["PUT /variables/s?visibility=model", json(5), 200, { visibility: "model" }],
    ["GET /variables/s", 200, "5"],
  ],
});

describe("large JSON", slow, () =>
  httpCases({
    "JSON over 16 MiB is refused, and the old value stays": [
      ["PUT /variables/a", json("before"), 201],
      ["PUT /variables/a", ...tooLong(JSON.stringify(["é".repeat(limits.maxJsonBytes / 2 - 1)]))],
      ["PUT /variables/a", ...tooLong(JSON.stringify("x".repeat(limits.maxJsonBytes - 1)))],
      ["PUT /variables/b", ...tooLong(`${longest} `)],
      ["GET /variables/a", 200, "before"],
      ["GET /variables", 200, { variables: [{ name: "a", version: 1 }] }],
      ["PUT /variables/a", raw(longest), 200],
    ],
  }),
);

type Headers = Readonly<Record<string, string>>;
const A = (id: string, query = "") => `/conversations/${id}/variables/a${query}`;
const writes: Readonly<Record<string, (id: string, headers: Headers) => Promise<Response>>> = {
  PUT: (id, headers) => call("PUT", A(id), json(["new"], headers)),
  "PUT of bytes": (id, headers) => putAs(id, "a", { body: "new", type: "image/png", headers }),
  "PUT that appends": (id, headers) => call("PUT", A(id, "?mode=append"), json(["new"], headers)),
  PATCH: (id, headers) => call("PATCH", A(id), json({ description: "new" }, headers)),
  DELETE: (id, headers) => call("DELETE", A(id), { headers }),
};

it.each(Object.entries(writes))("%s with conditions happens if they hold", async (_, write) => {
  const id = newId();
  const etagOf = async () => (await get(id, "a")).headers.get("etag") ?? "";
  await put(id, "a", ["old"]);
  const old = await etagOf();
  await put(id, "a", ["changed"]);
  const etag = await etagOf();
  for (const headers of [{ "if-match": old }, { "if-none-match": "*" }]) {
    const problem = await problemIn(await write(id, headers), "precondition_failed");
    expect(problem).toMatchObject({ etag });
    expect(await (await get(id, "a")).json()).toEqual(["changed"]);
    expect(await (await get(id, "a/info")).json()).not.toHaveProperty("description");
  }
  await problemIn(await write(id, { "if-match": "x" }), "bad_request");
  const done = await write(id, { "if-match": `"x", ${etag}`, "if-none-match": old });
  expect(done.status).toBeLessThan(205);
});

const RECORD = { user: "Ada", token: SECRET, list: [SECRET, { [SECRET]: 1 }] };

const kinds: Readonly<Record<string, { readonly body: BodyInit; readonly type: string }>> = {
  JSON: { body: JSON.stringify(RECORD), type: "application/json" },
  records: { body: `${JSON.stringify(RECORD)}\n${JSON.stringify(SECRET)}\n`, type: NDJSON },
  bytes: { body: new TextEncoder().encode(SECRET), type: "image/png" },
  "text in chunks": { body: `${SECRET} `.repeat(5_000), type: TEXT },
  "records in the bucket": {
    body: `${JSON.stringify({ ...RECORD, note: "x".repeat(10_000) })}\n`.repeat(900),
    type: NDJSON,
  },
};

async function textIn(response: Response | Promise<Response>): Promise<string> {
  const { status, headers, body } = await response;
  return `${status} ${JSON.stringify([...headers])} ${await new Response(body).text()}`;
}

/** What else of a conversation a client can read: test/edge-node/turns/secret-turns.test.ts. */
async function listsOf(id: string): Promise<string> {
  const gets = ["", "/variables", "/variables/s/info", "/events"];
  const told = gets.map((path) => textIn(call("GET", `/conversations/${id}${path}`)));
  return (await Promise.all(told)).join("\n");
}

it.each(Object.entries(kinds))("a secret of %s can be written, but not read", async (_, sent) => {
  const id = newId();
  const said = watchConsole();
  const created = await putAs(id, "s?visibility=secret", sent);
  expect(created.status).toBe(201);
  const heard = [await textIn(created)];
  await evictDurableObject(objectOf(id));
  const ways: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ...["", "?path=.token", "?path=[0]", "?path=[*].token", "?path=.none", "?path=[0:5]"].map(
      (query) => [`s${query}`, {}] as const,
    ),
    ["s?offset=1&limit=5", {}],
    ["s", { range: "bytes=0-9" }],
    ["s", { range: "bytes=9999999999-" }],
    ["s", { accept: NDJSON }],
    ["s", { accept: "text/plain" }],
    ["s", { "if-none-match": "*" }],
    ["s", { "if-none-match": created.headers.get("etag") ?? "" }],
  ];
  for (const [at, headers] of ways) {
    const response = await getWith(id, at, headers);
    expect(response.headers.get("etag")).toBeNull();
    heard.push(JSON.stringify(await problemIn(response, "variable_secret")));
  }
  expect((await call("HEAD", `/conversations/${id}/variables/s`)).status).toBe(403);
  heard.push(await listsOf(id), said());
  expect(leaksIn(heard.join("\n"))).toEqual([]);
});

it("a secret over HTTP is not quoted when a write is refused", async () => {
  const id = newId();
  const said = watchConsole();
  await put(id, "s?visibility=secret", [SECRET]);
  const broken = [
    putAs(id, "s?visibility=secret", { body: `{"a": "${SECRET}`, type: "application/json" }),
    putAs(id, "s", { body: `{"token": ${SECRET}}`, type: "application/json" }),
    putAs(id, "n?visibility=secret", { body: `["x"]\n${SECRET}\n`, type: NDJSON }),
    putAs(id, "s?mode=append", { body: `${SECRET}`, type: "application/json" }),
    call("PUT", `/conversations/${id}/variables/s?mode=merge`, json({ [SECRET]: SECRET })),
  ];
  const heard = await Promise.all(broken.map((response) => textIn(response)));
  for (const text of heard) expect(text).toMatch(/^4\d\d /);
  expect(leaksIn([...heard, said()].join("\n"))).toEqual([]);
});
