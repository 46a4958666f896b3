import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import * as limits from "../../../src/limits.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, namesIn, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";

// Megabytes take longer on a busy machine.
/** Sends a body unchanged, by default as JSON. */
function putText(at: string, body: BodyInit, type = "application/json"): Promise<Response> {
  return call("PUT", at, { body, headers: { "content-type": type } });
}

const at = (id: string, name = "a") => `/conversations/${id}/variables/${name}`;

async function bytesOf(response: Response): Promise<number[]> {
  return [...new Uint8Array(await response.arrayBuffer())];
}

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
    expect(await second.json()).toMatchObject({ name: "a", version: 2, type: "string", count: 3 });
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

  it.each([
    ["an empty one", ""],
    ["of any characters", "é € 😀 漢字 \u0301 \u200b \u2028 \r\n\t\0"],
    ["a text that is valid JSON", '{"a": 1}'],
  ])("keeps a text byte by byte: %s", async (_, text) => {
    const id = newId();
    expect((await putText(at(id), text, "text/plain")).status).toBe(201);
    const response = await get(id, "a");
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await bytesOf(response)).toEqual([...new TextEncoder().encode(text)]);
    // The same text, sent as JSON, is stored as the same value.
    expect((await putText(at(id, "b"), JSON.stringify(text))).status).toBe(201);
    expect(await (await get(id, "b")).text()).toBe(text);
  });

  it("does not lose characters that UTF-8 cannot represent", async () => {
    const id = newId();
    await putText(at(id), '"a\\ud800"');
    const text = await (await get(id, "a")).text();
    expect(text).not.toContain("\ufffd");
    expect(text).toContain("\\ud800");
  });

  it.each(["1e400", "[-1e999]", '[{"id":1234567890123456789}]', "0.1234567890123456789"])(
    "gives back the number %s, also below a path",
    async (text) => {
      const id = newId();
      expect((await putText(at(id), text)).status).toBe(201);
      expect(await (await get(id, "a")).text()).toBe(text);
      const [digits = ""] = /-?\d[\d.e]+/u.exec(text) ?? [];
      const path = text.includes("id") ? "[0].id" : "[0]";
      if (text.startsWith("[")) {
        expect(await (await get(id, `a?path=${encodeURIComponent(path)}`)).text()).toBe(digits);
      }
    },
  );

  it("accepts the content type in any case, with parameters", async () => {
    const id = newId();
    expect((await putText(at(id), "1", "Application/JSON ;charset=UTF-8")).status).toBe(201);
    expect(await (await get(id, "a/info")).json()).toMatchObject({ type: "number" });
  });

  it("keeps a key named __proto__ apart from the prototype", async () => {
    const id = newId();
    await putText(at(id), '{"__proto__":{"polluted":[1]}}');
    expect(await (await get(id, "a?path=.__proto__.polluted[0]")).text()).toBe("1");
    await problemIn(await get(id, "a?path=.polluted"), "path_not_found");
    await problemIn(await get(id, "a?path=.constructor"), "path_not_found");
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
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

  it("shows when a value was last read", async () => {
    const id = newId();
    const { accessedAt, ...info } = await put(id, "a", [1]);
    await vi.waitUntil(() => Date.now() > Date.parse(accessedAt));
    await (await get(id, "a/info")).text();
    await namesIn(id);
    expect(await (await get(id, "a/info")).json()).toEqual({ ...info, accessedAt });
    await (await get(id, "a?path=[0]")).text();
    const read = await (await get(id, "a/info")).json<VariableInfo>();
    expect(read).toEqual({ ...info, accessedAt: read.accessedAt });
    expect(Date.parse(read.accessedAt)).toBeGreaterThan(Date.parse(accessedAt));
  });

  it("has an ETag that changes with every write, and with no read", async () => {
    const id = newId();
    const tags = new Set<string | null>();
    for (const value of [1, 1, 2]) {
      await put(id, "a", value);
      tags.add((await get(id, "a")).headers.get("etag"));
      tags.add((await get(id, "a?path=")).headers.get("etag"));
    }
    expect(tags.size).toBe(3);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
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

  it("cuts a text by characters", async () => {
    const id = newId();
    await putText(at(id), "é€😀z", "text/plain");
    const response = await get(id, "a?path=[1:3]");
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toBe("€😀");
  });

  it("reports the nearest value, its keys and similar keys", async () => {
    const id = newId();
    await put(id, "a", value);
    const problem = await problemIn(await get(id, "a?path=.lst[0]"), "path_not_found");
    expect(problem).toMatchObject({ nearest: "a", keys: Object.keys(value), near: ["list"] });
    expect(await problemIn(await get(id, "a?path=.list[7].x"), "path_not_found")).toMatchObject({
      nearest: "a.list",
      length: 3,
    });
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

  it("shows the same as /info for each, but never the value", async () => {
    const id = newId();
    await put(id, "a?pin=true", "x".repeat(5_000) + "END");
    const response = await call("GET", `/conversations/${id}/variables`);
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({ variables: [await (await get(id, "a/info")).json()] });
    expect(text).not.toContain("END");
    expect(text.length).toBeLessThan(1_500);
  });
});

describe("DELETE", () => {
  const remove = (id: string, rest: string) =>
    call("DELETE", `/conversations/${id}/variables${rest}`);

  it("removes a variable as if it had never existed", async () => {
    const [id, other] = [newId(), newId()];
    await put(id, "a", "x".repeat(100_000));
    const response = await remove(id, "/a");
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    for (const rest of ["a", "a/info", "a?path=.x"]) {
      const gone = await problemIn(await get(id, rest), "variable_not_found");
      expect(gone).toEqual(await problemIn(await get(other, rest), "variable_not_found"));
    }
    await problemIn(await remove(id, "/a"), "variable_not_found");
    expect(await namesIn(id)).toEqual([]);
    expect(await put(id, "a", 1)).toMatchObject({ version: 1 });
  });

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
    expect(await remove(newId(), "").then((response) => response.json())).toEqual({ deleted: [] });
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

describe("a stored value in a browser", () => {
  const script = "<!doctype html><script>alert(1)</script>";

  it.each([
    { at: "a", body: script, type: "text/plain" },
    { at: "a?path=[0:30]", body: script, type: "text/plain" },
    { at: "a", body: JSON.stringify([script]), type: "application/json" },
    { at: "a?path=.a", body: JSON.stringify({ a: script }), type: "application/json" },
  ])("can do nothing: $type at $at", async ({ at: place, body, type }) => {
    const id = newId();
    await putText(at(id), body, type);
    const { headers } = await get(id, place);
    expect(headers.get("content-type")?.split(";")[0]).toBe(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  });
});

describe("large values", () => {
  it("are returned unchanged: 3 MB of text, and of JSON", async () => {
    const id = newId();
    // Characters of one, two, three and four bytes, so that chunks end inside some of them.
    const text = "aé€😀".repeat(300_000);
    const rows = JSON.stringify(Array.from({ length: 40_000 }, (_, id) => ({ id, text: "é€😀" })));
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

  it("may be longer as text than as JSON", slow, async () => {
    const id = newId();
    for (const text of [
      "x".repeat(limits.maxJsonBytes + 1),
      "é".repeat(limits.maxJsonBytes / 2 + 1),
    ]) {
      const info = await (await putText(at(id), text, "text/plain")).json();
      expect(info).toMatchObject({ type: "string", count: text.length, location: "r2" });
      expect((await (await get(id, "a")).text()) === text).toBe(true);
    }
  });
});
