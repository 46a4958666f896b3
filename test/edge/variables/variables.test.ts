import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, afterEach, vi } from "vitest";
import * as limits from "../../../src/limits.ts";
import { call, get, namesIn, newId, objectOf, problemIn, put, json } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { getWith, putAs, TEXT, anyBytes, bytesOf, NDJSON } from "../../support/values.ts";
import { leaksIn, SECRET, watchConsole } from "../../support/leaks.ts";

describe("variables", () => {
  // Megabytes take longer on a busy machine.
  /** Sends a body unchanged, by default as JSON. */
  function putText(at: string, body: BodyInit, type = "application/json"): Promise<Response> {
    return call("PUT", at, { body, headers: { "content-type": type } });
  }

  const at = (id: string, name = "a") => `/conversations/${id}/variables/${name}`;

  describe("PUT and GET", () => {
    it("creates with 201, replaces with 200; both return the info", async () => {
      const id = newId();
      const first = await putText(at(id), "[1, 2]");
      expect(first.status).toBe(201);
      const info = await first.json();
      expect(info).toMatchObject({ name: "a", version: 1, type: "array", count: 2, bytes: 6 });
      expect(await (await get(id, "a/info")).json()).toEqual(info);
      const second = await putText(at(id), "two", "text/plain; charset=utf-8");
      expect(second.status).toBe(200);
      expect(await second.json()).toMatchObject({
        name: "a",
        version: 2,
        type: "string",
        count: 3,
      });
      expect(await (await get(id, "a")).text()).toBe("two");
    });

    it("keeps JSON as it is written", async () => {
      const id = newId();
      const text =
        '[[],{},null,true,0,-1.5e-300,9007199254740991,1.7976931348623157e+308,{"b":1,"a":{"":[]}},' +
        '"é€😀",{"__proto__":{"polluted":true},"constructor":1},{"toString":"x","length":-1},' +
        '{"a\\u0000b":"\\ud800","\\udc00":"\\\\"}]';
      expect((await putText(at(id), text)).status).toBe(201);
      const response = await get(id, "a");
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.text()).toBe(text);
    });

    it("saves ttl, pin and description from the query", async () => {
      const id = newId();
      const info = await put(id, "a?ttl=60&pin=true&description=Of%20today%20%E2%82%AC", 1);
      expect(info).toMatchObject({ pinned: true, description: "Of today €" });
      expect(Date.parse(info.expiresAt ?? "") - Date.parse(info.updatedAt)).toBe(60_000);
      const longest = await put(id, `a?ttl=315360000&pin=false&description=${"x".repeat(500)}`, 1);
      expect(longest).toMatchObject({ pinned: false, description: "x".repeat(500) });
      const { expiresAt } = longest;
      expect(await put(id, "a", 1)).toMatchObject({ expiresAt });
    });
  });

  describe("?path=", () => {
    const value = {
      list: [{ id: 1, name: "é€😀z" }, { id: 2 }, { other: 3 }],
      "a b": { "x]y": "quoted", "it's": true },
      text: "é€😀z",
      nothing: null,
    };

    // The meaning of paths is tested in test/value/path.test.ts.
    it.each([
      ["", JSON.stringify(value)],
      [".list[0].name", '"é€😀z"'],
      [".list[*].id", "[1,2]"],
      ['["a b"]["x]y"]', '"quoted"'],
      [".nothing", "null"],
    ])("%s gives %s", async (path, expected) => {
      const id = newId();
      await put(id, "a", value);
      const response = await get(id, `a?path=${encodeURIComponent(path)}`);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.text()).toBe(expected);
    });
  });

  describe("the list", () => {
    it("has all, the newest few, or the named ones; oldest first", async () => {
      const id = newId();
      expect(await namesIn(id)).toEqual([]);
      for (const name of ["c", "a", "b", "c"]) await put(id, name, name);
      expect(await namesIn(id)).toEqual(["a", "b", "c"]);
      expect(await namesIn(id, "?last=2")).toEqual(["b", "c"]);
      expect(await namesIn(id, "?last=0")).toEqual([]);
      expect(await namesIn(id, "?last=99")).toEqual(["a", "b", "c"]);
      expect(await namesIn(id, "?names=c,none,a")).toEqual(["a", "c"]);
      expect(await namesIn(id, "?names=a,b&last=1")).toEqual(["b"]);
      expect(await namesIn(id, "?names=")).toEqual([]);
      const many = Array.from({ length: limits.maxItems + 1 }, (_, n) => `n${n}`).join();
      expect((await call("GET", `/conversations/${id}/variables?names=${many}`)).status).toBe(422);
    });
  });

  describe("DELETE", () => {
    const remove = (id: string, rest: string) =>
      call("DELETE", `/conversations/${id}/variables${rest}`);

    it("resets all, or all but the newest few; pinned ones stay and do not count", async () => {
      const id = newId();
      for (const at of ["a?pin=true", "b", "c", "d?pin=true", "e"]) await put(id, at, 1);
      const reset = async (query: string) => (await remove(id, query)).json();
      expect(await reset("?keepLast=3")).toEqual({ deleted: [] });
      expect(await reset("?keepLast=1")).toEqual({ deleted: ["b", "c"] });
      expect(await namesIn(id)).toEqual(["a", "d", "e"]);
      expect(await reset("")).toEqual({ deleted: ["e"] });
      expect(await reset("?keepLast=0")).toEqual({ deleted: [] });
      expect(await namesIn(id)).toEqual(["a", "d"]);
      expect(await remove(newId(), "").then((response) => response.json())).toEqual({
        deleted: [],
      });
    });
  });

  describe("an expired variable", () => {
    it("answers 410 with its tombstone until it is saved again", async () => {
      const id = newId();
      await put(id, "a?ttl=3600", [1]);
      const expiresAt = Date.now() - 5;
      await runInDurableObject(objectOf(id), (_, { storage }) => {
        storage.sql.exec("UPDATE variable SET expires_at = ? WHERE name = 'a'", expiresAt);
      });
      await evictDurableObject(objectOf(id));
      const evictedAt = new Date(expiresAt).toISOString();
      for (const rest of ["a", "a/info", "a?path=[0]"]) {
        const problem = await problemIn(await get(id, rest), "variable_evicted");
        expect(problem.tombstone).toEqual({ name: "a", version: 1, evictedAt, reason: "expired" });
        expect(problem.detail).toContain(evictedAt);
      }
      expect(await namesIn(id)).toEqual([]);
      expect((await putText(at(id), "2")).status).toBe(201);
      expect(await (await get(id, "a/info")).json()).toMatchObject({ version: 2 });
    });
  });

  describe("large values", () => {
    it("are returned unchanged: 3 MB of text, and of JSON", async () => {
      const id = newId();
      // Characters of one, two, three and four bytes, so that chunks end inside some of them.
      const text = "aé€😀".repeat(300_000);
      const rows = JSON.stringify(
        Array.from({ length: 40_000 }, (_, id) => ({ id, text: "é€😀" })),
      );
      for (const [body, type] of [
        [text, "text/plain"],
        [rows, "application/json"],
      ] as const) {
        const info = await (await putText(at(id), body, type)).json();
        expect(info).toMatchObject({ location: "chunks", chars: body.length });
        await evictDurableObject(objectOf(id));
        expect((await (await get(id, "a")).text()) === body).toBe(true);
      }
      expect(await (await get(id, "a?path=[39999].id")).text()).toBe("39999");
    });

    it("are refused as JSON over 16 MiB, and the old value stays", slow, async () => {
      const id = newId();
      await put(id, "a", "before");
      const maximum = limits.maxJsonBytes;
      for (const [name, body] of [
        ["a", JSON.stringify(["x".repeat(maximum - 3)])],
        ["a", JSON.stringify(["é".repeat(maximum / 2 - 1)])],
        ["a", JSON.stringify("x".repeat(maximum - 1))],
        ["b", JSON.stringify(["x".repeat(maximum - 3)])],
      ] as const) {
        const problem = await problemIn(await putText(at(id, name), body), "body_too_large");
        expect(problem).toMatchObject({ limit: "maxJsonBytes", maximum });
        expect(problem.detail).toContain("application/x-ndjson");
      }
      expect(await (await get(id, "a")).text()).toBe("before");
      expect(await (await get(id, "a/info")).json()).toMatchObject({ version: 1 });
      expect(await namesIn(id)).toEqual(["a"]);
      const longest = JSON.stringify(["x".repeat(maximum - 4)]);
      expect((await putText(at(id), longest)).status).toBe(200);
      expect((await (await get(id, "a")).text()) === longest).toBe(true);
    });
  });
});

describe("variable writes", () => {
  /** `place` is a query, optionally with another name than `v` before it. */
  const put = (id: string, place: string, value: unknown) => {
    const at = place === "" || place.startsWith("?") ? `v${place}` : place;
    return call("PUT", `/conversations/${id}/variables/${at}`, json(value));
  };
  const valueOf = async (id: string, name = "v") => (await get(id, name)).json();

  describe("POST without a name", () => {
    const post = (id: string, init: RequestInit, query = "") =>
      call("POST", `/conversations/${id}/variables${query}`, init);

    it("saves each value under the next automatic name, and returns its location", async () => {
      const id = newId();
      await put(id, "variable_2", ["taken"]);
      for (const [value, name] of [
        [[1], "variable_3"],
        [[1], "variable_4"],
      ] as const) {
        const response = await post(id, json(value), "?ttl=3600&description=posted");
        expect(response.status).toBe(201);
        expect(response.headers.get("location")).toBe(`/conversations/${id}/variables/${name}`);
        const info = await response.json<Record<string, unknown>>();
        expect(info).toMatchObject({ name, version: 1, type: "array", description: "posted" });
        expect(info).toMatchObject({ sources: ["caller"], expiresAt: expect.any(String) });
        expect(response.headers.get("etag")).toBe((await get(id, name)).headers.get("etag"));
        expect(await valueOf(id, name)).toEqual(value);
      }
      expect(await valueOf(id, "variable_2")).toEqual(["taken"]);
    });
  });

  describe("PUT with a mode", () => {
    it("appends to an array and merges into an object", async () => {
      const id = newId();
      expect((await put(id, "?mode=append", [1])).status).toBe(201);
      expect((await put(id, "?mode=append", 2)).status).toBe(200);
      expect(await valueOf(id)).toEqual([1, 2]);
      await put(id, "o", { a: { b: 1 } });
      await put(id, "o?mode=merge", { a: { c: 2 } });
      expect(await valueOf(id, "o")).toEqual({ a: { b: 1, c: 2 } });
    });

    it("refuses a value that does not fit the existing one, which stays", async () => {
      const id = newId();
      await put(id, "", { a: 1 });
      await problemIn(await put(id, "?mode=append", "text"), "bad_value");
      expect(await valueOf(id)).toEqual({ a: 1 });
      await problemIn(await put(id, "?mode=overwrite", 1), "bad_request");
    });
  });

  describe("PATCH", () => {
    const patch = (id: string, changes: unknown, name = "v") =>
      call("PATCH", `/conversations/${id}/variables/${name}`, json(changes));

    it("changes metadata, and leaves value, version and order", async () => {
      const id = newId();
      await put(id, "?ttl=100", [1]);
      await put(id, "later", 2);
      const response = await patch(id, { ttl: null, pinned: true, description: "kept" });
      expect(response.status).toBe(200);
      const info = await response.json();
      expect(info).toMatchObject({ name: "v", version: 1, pinned: true, description: "kept" });
      expect(info).not.toHaveProperty("expiresAt");
      expect(await (await get(id, "v/info")).json()).toEqual(info);
      expect(await valueOf(id)).toEqual([1]);
    });

    it.each([{}, { ttl: 0 }, { ttl: "1" }, { pinned: 1 }, { value: 2 }, { version: 7 }, [], 5])(
      "refuses %j",
      async (changes) => {
        const id = newId();
        await put(id, "", 1);
        await problemIn(await patch(id, changes), "bad_request");
      },
    );
  });

  describe("GET variables", () => {
    const markdown = (id: string, query = "") =>
      call("GET", `/conversations/${id}/variables${query}`, {
        headers: { accept: "text/markdown" },
      });

    it("shows type, items, description, time and preview of each as Markdown", async () => {
      const id = newId();
      await put(id, "data_filtered?description=Customers%20in%20CA", [{ id: 0, name: "Ada" }]);
      await put(id, "statistics", { mean: 156.4 });
      const response = await markdown(id);
      expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
      const text = await response.text();
      expect(text).toMatch(/^# Variables Summary\n\n## data_filtered\n/);
      expect(text).toContain(
        "- Type: array\n- Items: 1\n- Description: Customers in CA\n- Created: 20",
      );
      expect(text).toContain('- Value Preview: [{"id":0,"name":"Ada"}]');
      expect(text).toContain("## statistics\n\n- Type: object\n- Items: 1\n");
    });

    it("lists the names that no variable has, and only those", async () => {
      const id = newId();
      for (const name of ["a", "b"]) await put(id, name, 1);
      const missingIn = async (query: string) => {
        const response = await call("GET", `/conversations/${id}/variables?${query}`);
        return (await response.json<{ missing?: unknown }>()).missing;
      };
      expect(await missingIn("names=a,nope,b,nope,Not%20a%20name")).toEqual(["nope", "Not a name"]);
      expect(await missingIn("names=a,b&last=1")).toEqual([]);
      expect(await missingIn("last=1")).toBeUndefined();
    });
  });

  describe("POST interpolate", () => {
    const interpolate = (id: string, body: unknown) =>
      call("POST", `/conversations/${id}/interpolate`, json(body));

    it("resolves mustaches, also in code and URLs, and lists unresolved ones", async () => {
      const id = newId();
      await put(id, "", { user: { name: "Ada" }, list: [1, { a: "b" }] });
      const text =
        "Hi {{v.user.name}}, {{v.list}} `{{v.list[1].a}}` https://a.example/{{v.list[0]}} {{nobody}} {{v.nope}}";
      const answer = await (await interpolate(id, { text })).json();
      expect(answer).toMatchObject({
        text: 'Hi Ada, [1,{"a":"b"}] `b` https://a.example/1 {{nobody}} {{v.nope}}',
        unresolved: [
          { reference: "{{nobody}}", code: "variable_not_found" },
          { reference: "{{v.nope}}", code: "path_not_found" },
        ],
      });
    });

    it.each([{}, { text: 1 }, { text: "a", syntax: "percent" }])("refuses %j", async (body) => {
      await problemIn(await interpolate(newId(), body), "bad_request");
    });
  });

  describe("the variable named input", () => {
    it("comes with a message, and cannot be changed afterwards", async () => {
      const id = newId();
      const at = `/conversations/${id}/variables/input`;
      const value = { body: "1", headers: { "content-type": "application/json" } };
      await problemIn(await call("PUT", at, value), "bad_name");
      await problemIn(await call("DELETE", at), "bad_name");
      const init = { body: '{"pinned":true}', headers: { "content-type": "application/json" } };
      await problemIn(await call("PATCH", at, init), "bad_name");
    });
  });
});

it("earlier versions of a secret are not kept, and those of a sealed variable are for people", async () => {
  const id = newId();
  await put(id, "a", 1);
  await put(id, "a?visibility=sealed", 2);
  expect(await (await get(id, "a?version=1")).json()).toBe(1);
  await put(id, "a?visibility=secret", 3);
  await problemIn(await get(id, "a?version=2"), "variable_secret");
});

describe("value conditions", () => {
  const at = (id: string, name = "a") => `/conversations/${id}/variables/${name}`;

  async function etagOf(id: string, name = "a"): Promise<string> {
    const response = await get(id, name);
    await response.arrayBuffer();
    return response.headers.get("etag") ?? "";
  }

  describe("Range", () => {
    const bytes = anyBytes(1_000);

    // Parsing of the header is tested in test/edge-node/byte-range.test.ts.
    it("returns a part with its position, the whole for several ranges, or the size if out of range", async () => {
      const id = newId();
      await putAs(id, "a", { body: bytes, type: "image/png" });
      const part = await getWith(id, "a", { range: "bytes=990-5000" });
      expect(part.status).toBe(206);
      expect(part.headers.get("content-range")).toBe("bytes 990-999/1000");
      expect(part.headers.get("content-type")).toBe("image/png");
      expect(part.headers.get("accept-ranges")).toBe("bytes");
      expect(part.headers.get("etag")).toBe(await etagOf(id));
      expect(part.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
      expect(await bytesOf(part)).toEqual([...bytes.subarray(990)]);
      const several = await getWith(id, "a", { range: "bytes=0-1,5-6" });
      expect([several.status, several.headers.get("content-range")]).toEqual([200, null]);
      expect(await bytesOf(several)).toEqual([...bytes]);
      const outside = await getWith(id, "a", { range: "bytes=1000-" });
      expect(outside.headers.get("content-range")).toBe("bytes */1000");
      expect(await problemIn(outside, "range_not_satisfiable")).toMatchObject({ size: 1_000 });
    });
  });

  describe("If-None-Match", () => {
    it("answers 304 without the value if it names the current etag", async () => {
      const id = newId();
      await put(id, "a", [1, 2, 3]);
      const etag = await etagOf(id);
      for (const rest of ["a", "a?path=[0]", "a?offset=1"]) {
        const response = await getWith(id, rest, { "if-none-match": `"x", ${etag}` });
        expect([response.status, await response.text()]).toEqual([304, ""]);
        expect(response.headers.get("etag")).toBe(etag);
        expect(response.headers.get("vary")).toBe("accept");
      }
      await put(id, "a", [1, 2, 3]);
      expect((await getWith(id, "a", { "if-none-match": etag })).status).toBe(200);
      await problemIn(await getWith(id, "a", { "if-none-match": etag.slice(1) }), "bad_request");
      await problemIn(await getWith(id, "none", { "if-none-match": "*" }), "variable_not_found");
    });
  });

  describe("a write with conditions", () => {
    type Headers = Readonly<Record<string, string>>;
    const writes: Readonly<Record<string, (id: string, headers: Headers) => Promise<Response>>> = {
      PUT: (id, headers) => call("PUT", at(id), json(["new"], headers)),
      "PUT of bytes": (id, headers) => putAs(id, "a", { body: "new", type: "image/png", headers }),
      "PUT that appends": (id, headers) =>
        call("PUT", at(id, "a?mode=append"), json(["new"], headers)),
      PATCH: (id, headers) => call("PATCH", at(id), json({ description: "new" }, headers)),
      DELETE: (id, headers) => call("DELETE", at(id), { headers }),
    };

    it.each(Object.entries(writes))("%s happens only if they hold", async (_, write) => {
      const id = newId();
      await put(id, "a", ["old"]);
      const old = await etagOf(id);
      await put(id, "a", ["changed"]);
      const etag = await etagOf(id);
      for (const headers of [{ "if-match": old }, { "if-none-match": "*" }]) {
        expect(await problemIn(await write(id, headers), "precondition_failed")).toMatchObject({
          etag,
        });
        expect(await (await get(id, "a")).json()).toEqual(["changed"]);
        expect(await (await get(id, "a/info")).json()).not.toHaveProperty("description");
      }
      await problemIn(await write(id, { "if-match": "x" }), "bad_request");
      const done = await write(id, { "if-match": `"x", ${etag}`, "if-none-match": old });
      expect(done.status).toBeLessThan(205);
    });
  });
});

describe("secrets", () => {
  afterEach(() => vi.restoreAllMocks());

  const RECORD = { user: "Ada", token: SECRET, list: [SECRET, { [SECRET]: 1 }] };

  const kinds: Readonly<Record<string, { readonly body: BodyInit; readonly type: string }>> = {
    JSON: { body: JSON.stringify(RECORD), type: "application/json" },
    "a JSON array": { body: JSON.stringify([RECORD, SECRET]), type: "application/json" },
    text: { body: `The key is ${SECRET}.`, type: TEXT },
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

  /** Returns everything that a client can read about the conversation. */
  async function everything(id: string): Promise<string> {
    const C = `/conversations/${id}`;
    const gets = ["", "/variables", "/variables?last=5", "/messages", "/messages?form=reference"];
    const told = await Promise.all(
      [...gets, "/events"].map((path) => textIn(call("GET", `${C}${path}`))),
    );
    const markdown = { headers: { accept: "text/markdown" } };
    told.push(await textIn(call("GET", `${C}/variables`, markdown)));
    for (const name of await namesIn(id)) {
      told.push(name, await textIn(get(id, name)), await textIn(get(id, `${name}/info`)));
    }
    return told.join("\n");
  }

  function interpolate(id: string, text: string, syntax = "mustache"): Promise<Response> {
    return call("POST", `/conversations/${id}/interpolate`, json({ text, syntax }));
  }

  describe("a secret over HTTP", () => {
    it.each(Object.entries(kinds))("of %s can be written, but never read", async (_, sent) => {
      const id = newId();
      const said = watchConsole();
      const created = await putAs(id, "s?visibility=secret", sent);
      expect(created.status).toBe(201);
      const heard = [await textIn(created)];
      await evictDurableObject(objectOf(id));
      const ways: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
        ["s", {}],
        ["s?path=.token", {}],
        ["s?path=[0]", {}],
        ["s?path=[*].token", {}],
        ["s?path=.none", {}],
        ["s?path=[0:5]", {}],
        ["s?offset=1&limit=5", {}],
        ["s?offset=0", {}],
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
      heard.push(await everything(id), said());
      expect(leaksIn(heard.join("\n"))).toEqual([]);
    });

    it.each([
      ["mustache", "{{s}} {{s.token}} {{s.none}} {{s.list[0]}} {{s[*]}}", 5],
      ["dollar", "$s $s.token $s.none `$s.list[0]` https://a.example/$s.token", 5],
      ["dagger", "†s †s.token", 2],
    ])("prints a placeholder where it is referred to: %s", async (syntax, text, count) => {
      const id = newId();
      await put(id, "s?visibility=secret", RECORD);
      const answer = await (await interpolate(id, text, syntax)).text();
      expect(leaksIn(answer)).toEqual([]);
      expect(answer.split("[secret: s]")).toHaveLength(count + 1);
      expect(answer).not.toMatch(/user|list\b.*list/);
    });

    it.each<readonly [string, string, unknown]>([
      ["an append", "s?mode=append", ["more"]],
      ["an append with visibility model", "s?mode=append&visibility=model", ["more"]],
      ["an append with visibility sealed", "s?mode=append&visibility=sealed", ["more"]],
      ["a replacement", "s", ["other", SECRET]],
      ["a merge", "o?mode=merge", { a: { c: 1 } }],
      ["a merge with visibility model", "o?mode=merge&visibility=model", { a: { c: 1 } }],
      ["a replacement of another type", "s", SECRET],
    ])("stays secret after %s", async (_, at, value) => {
      const id = newId();
      await put(id, "s?visibility=secret", [SECRET]);
      await put(id, "o?visibility=secret", { a: { b: SECRET } });
      const info = await call("PUT", `/conversations/${id}/variables/${at}`, json(value));
      expect(await info.clone().json()).toMatchObject({ visibility: "secret", preview: "" });
      const name = at.slice(0, 1);
      const patch = json({ description: "d", pinned: true });
      const patched = await call("PATCH", `/conversations/${id}/variables/${name}`, patch);
      expect(await patched.clone().json()).toMatchObject({ visibility: "secret", preview: "" });
      await problemIn(await get(id, name), "variable_secret");
      const heard = [await textIn(info), await textIn(patched), await everything(id)];
      expect(leaksIn(heard.join("\n"))).toEqual([]);
    });

    it("is not quoted when a write is refused", async () => {
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
  });

  describe("a sealed value over HTTP", () => {
    it("can be read by the caller, and is never opened by a write", async () => {
      const id = newId();
      const info = await put(id, "s?visibility=sealed", [SECRET]);
      expect(info).toMatchObject({ visibility: "sealed", shape: "string[]" });
      expect(await (await get(id, "s?path=[0]")).json()).toBe(SECRET);
      for (const [at, value] of [
        ["s", [1]],
        ["s?mode=append", [2]],
        ["s?mode=append&visibility=model", [3]],
      ] as const) {
        expect(await put(id, at, value)).toMatchObject({ visibility: "sealed" });
      }
      expect(await put(id, "s?mode=append&visibility=secret", 4)).toMatchObject({
        visibility: "secret",
        preview: "",
      });
      await problemIn(await get(id, "s"), "variable_secret");
      expect(await put(id, "s?visibility=model", 5)).toMatchObject({ visibility: "model" });
      expect(await (await get(id, "s")).text()).toBe("5");
    });
  });
});
