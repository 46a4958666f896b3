import { describe, expect, it } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, newId, problemIn, put } from "../../support/edge.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";
import { slow } from "../../support/slow.ts";

// Megabytes take longer on a busy machine.
describe("bytes", () => {
  it.each([
    ["image/png", "inline"],
    ["image/jpeg", "inline"],
    ["image/webp", "inline"],
    ["image/gif", "inline"],
    ["IMAGE/PNG", "inline"],
    ["image/svg+xml", "attachment"],
    ["text/html", "attachment"],
    ["text/html; charset=iso-8859-1", "attachment"],
    ["application/xhtml+xml", "attachment"],
    ["text/calendar; charset=utf-8; method=request", "attachment"],
    ["application/pdf", "attachment"],
    ["text/javascript", "attachment"],
    ["application/octet-stream", "attachment"],
    ["application/json-seq", "attachment"],
    ["image/png2", "attachment"],
  ])("of %s are returned unchanged, %s", async (type, disposition) => {
    const id = newId();
    const bytes = anyBytes(300);
    const sent = await putAs(id, "a", { body: bytes, type: type });
    expect(sent.status).toBe(201);
    const info = { type: "bytes", count: 300, bytes: 300, mediaType: type, shape: "bytes" };
    expect(await sent.json()).toMatchObject(info);
    const response = await get(id, "a");
    const { headers } = response;
    expect(await bytesOf(response)).toEqual([...bytes]);
    expect(headers.get("content-type")).toBe(type);
    const expected = disposition === "inline" ? null : "attachment";
    expect(headers.get("content-disposition")).toBe(expected);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(headers.get("cache-control")).toBe("private, no-cache");
  });

  it.each([
    [0, "row"],
    [1, "row"],
    [65_536, "row"],
    [65_537, "r2"],
    [1_048_576, "r2"],
    [2_500_001, "r2"],
  ])(
    "of %i are stored in the %s, and returned whole or in part",
    slow,
    async (length, location) => {
      const id = newId();
      const bytes = anyBytes(length);
      const info = await (await putAs(id, "a", { body: bytes, type: "image/png" })).json();
      expect(info).toMatchObject({ count: length, bytes: length, location });
      expect(await bytesOf(await get(id, "a"))).toEqual([...bytes]);
      const [from, to] = [Math.floor(length / 3), Math.floor(length / 2)];
      const part = await get(id, `a?offset=${from}&limit=${to - from}`);
      expect(await bytesOf(part)).toEqual([...bytes.subarray(from, to)]);
    },
  );

  it("have no path, and cannot be interpolated", async () => {
    const id = newId();
    await putAs(id, "a", { body: anyBytes(10), type: "image/png" });
    await problemIn(await get(id, "a?path=[0]"), "bad_request");
    const body = JSON.stringify({ text: "{{a}} {{a[0:1]}}" });
    const headers = { "content-type": "application/json" };
    const answer = await call("POST", `/conversations/${id}/interpolate`, { body, headers });
    expect(await answer.json()).toMatchObject({
      text: "{{a}} {{a[0:1]}}",
      unresolved: [{ code: "bad_value" }, { code: "bad_value" }],
    });
  });

  it("replace, and are neither appended nor merged", async () => {
    const id = newId();
    await putAs(id, "a", { body: anyBytes(10), type: "image/png" });
    for (const mode of ["append", "merge"]) {
      await problemIn(
        await putAs(id, `a?mode=${mode}`, { body: anyBytes(5), type: "image/png" }),
        "bad_value",
      );
      await problemIn(
        await putAs(id, `a?mode=${mode}`, { body: "5", type: "application/json" }),
        "bad_value",
      );
    }
    expect(await bytesOf(await get(id, "a"))).toEqual([...anyBytes(10)]);
    expect((await putAs(id, "a", { body: "5", type: "application/json" })).status).toBe(200);
    expect(await (await get(id, "a/info")).json()).toMatchObject({ type: "number", version: 2 });
  });
});

describe("text", () => {
  it.each(["text/plain", "TEXT/plain;charset=UTF-8", 'text/plain; charset="utf-8"; format=flowed'])(
    "of %s is a string",
    async (type) => {
      const id = newId();
      const sent = await putAs(id, "a", { body: "é€😀", type: type });
      expect(await sent.json()).toMatchObject({ type: "string", count: 3, mediaType: TEXT });
      const response = await get(id, "a");
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await response.text()).toBe("é€😀");
    },
  );

  it.each(["utf-16le", "iso-8859-1", "nonsense"])("in %s is refused", async (charset) => {
    const id = newId();
    const sent = await putAs(id, "a", { body: "a\0b\0", type: `text/plain; charset=${charset}` });
    const { detail } = await problemIn(sent, "unsupported_media_type");
    expect(detail).toContain("UTF-8");
    await problemIn(await get(id, "a"), "variable_not_found");
  });

  it.each([1, 70_000, 9_000_000])("that is not UTF-8 at its byte %i is refused", async (place) => {
    const id = newId();
    const bytes = new Uint8Array(place + 10).fill(0x61);
    bytes[place] = 0xff;
    await problemIn(await putAs(id, "a", { body: bytes, type: TEXT }), "bad_value");
    await problemIn(await get(id, "a"), "variable_not_found");
  });
});

describe("records", () => {
  const lines = '{"id":1,"name":"é€😀"}\n[2]\nnull\n"four"\n';
  const array = '[{"id":1,"name":"é€😀"},[2],null,"four"]';

  it("are read as a JSON array, or as lines on request", async () => {
    const id = newId();
    const untidy = '\uFEFF {"id":1,"name":"é€😀"}\r\n\n[2]  \n\t\n\tnull\n"four"';
    const sent = await putAs(id, "a", { body: untidy, type: `${NDJSON}; charset=utf-8` });
    expect(await sent.json()).toMatchObject({ type: "array", count: 4, mediaType: NDJSON });
    for (const accept of ["application/json", "*/*", "text/html"]) {
      const response = await getWith(id, "a", { accept });
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("content-disposition")).toBeNull();
      expect(response.headers.get("vary")).toBe("accept");
      expect(await response.text()).toBe(array);
    }
    const response = await getWith(id, "a", { accept: NDJSON });
    expect(response.headers.get("content-type")).toBe(NDJSON);
    expect(response.headers.get("vary")).toBe("accept");
    expect(response.headers.get("content-disposition")).toBe("attachment");
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(untidy);
  });

  it("are the lines of a JSON array on request; other JSON stays as it is", async () => {
    const id = newId();
    await put(id, "a", JSON.parse(array));
    await put(id, "object", { list: [1, { a: 2 }] });
    const asLines = async (at: string) => {
      const response = await getWith(id, at, { accept: NDJSON });
      return [response.headers.get("content-type"), await response.text()];
    };
    expect(await asLines("a")).toEqual([NDJSON, lines]);
    expect(await asLines("a?offset=1&limit=2")).toEqual([NDJSON, "[2]\nnull\n"]);
    expect(await asLines("object")).toEqual(["application/json", '{"list":[1,{"a":2}]}']);
    expect(await asLines("object?path=.list")).toEqual([NDJSON, '1\n{"a":2}\n']);
  });

  it.each([
    ["none", ""],
    ["only blank lines", "\n \n\r\n"],
  ])("may be %s", async (_, body) => {
    const id = newId();
    const info = { type: "array", count: 0, bytes: body.length };
    expect(await (await putAs(id, "a", { body: body, type: NDJSON })).json()).toMatchObject(info);
    expect(await (await get(id, "a")).text()).toBe("[]");
    expect(await (await getWith(id, "a", { accept: NDJSON })).text()).toBe(body);
  });

  it.each([
    ["row", 100],
    ["chunks", 20_000],
    ["r2", 300_000],
  ])("in %s are the same whole, in lines and in part", slow, async (location, count) => {
    const id = newId();
    const records = Array.from({ length: count }, (_, id) => ({ id, text: "é€😀 ".repeat(4) }));
    const body = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    const info = await (await putAs(id, "a", { body: body, type: NDJSON })).json<VariableInfo>();
    expect(info).toMatchObject({ count, location });
    expect(info.chars).toBe(JSON.stringify(records).length);
    expect((await (await getWith(id, "a", { accept: NDJSON })).text()) === body).toBe(true);
    expect((await (await get(id, "a")).text()) === JSON.stringify(records)).toBe(true);
    const last = count - 1;
    expect(await (await get(id, `a?path=[${last}]`)).json()).toEqual(records[last]);
    expect(await (await get(id, "a?path=[-2].id")).text()).toBe(String(last - 1));
    const middle = Math.floor(count / 2);
    const part = await get(id, `a?offset=${middle}&limit=3`);
    expect(await part.json()).toEqual(records.slice(middle, middle + 3));
  });

  it.each([
    ["invalid JSON", '{"a":1}\n{"b":}\n', { record: 2, line: 2 }],
    ["two values on a line", "1\n2 3\n", { record: 2, line: 2 }],
    ["a value on two lines", '\n\n{"a":\n1}\n', { record: 1, line: 3 }],
    ["invalid UTF-8", new Uint8Array([0x31, 0x0a, 0x22, 0xc3, 0x22, 0x0a]), { record: 2, line: 2 }],
  ])("that are %s are refused, and the first of them is named", async (_, body, place) => {
    const id = newId();
    await put(id, "a", "before");
    expect(
      await problemIn(await putAs(id, "a", { body: body, type: NDJSON }), "bad_json"),
    ).toMatchObject(place);
    expect(await (await get(id, "a")).text()).toBe("before");
  });
});

describe("?offset= and ?limit=", () => {
  const text = "a😀é€👩‍👩‍👧z";
  const characters = [...text];

  it.each([
    ["offset=0", 0, 99],
    ["offset=1", 1, 99],
    ["offset=1&limit=1", 1, 2],
    ["limit=2", 0, 2],
    ["offset=4&limit=3", 4, 7],
    ["offset=99", 99, 99],
    ["offset=3&limit=0", 3, 3],
    ["limit=999999999999999", 0, 99],
  ])(
    "%s count characters of a text, elements of an array, bytes of bytes",
    async (query, from, to) => {
      const id = newId();
      const list = characters.map((character, index) => [index, character]);
      const bytes = anyBytes(9);
      await putAs(id, "text", { body: text, type: TEXT });
      await put(id, "list", list);
      await put(id, "object", { "the list": list });
      await putAs(id, "records", {
        body: list.map((pair) => JSON.stringify(pair)).join("\n"),
        type: NDJSON,
      });
      await putAs(id, "bytes", { body: bytes, type: "image/png" });
      const sliced = characters.slice(from, to).join("");
      expect(await (await get(id, `text?${query}`)).text()).toBe(sliced);
      for (const at of [`list?`, `records?`, `object?path=["the list"]&`]) {
        expect(await (await get(id, at + query)).json()).toEqual(list.slice(from, to));
      }
      expect(await bytesOf(await get(id, `bytes?${query}`))).toEqual([...bytes.subarray(from, to)]);
    },
  );

  it.each([10_000, 3_000_000])(
    "find characters of all sizes in a text of %i",
    slow,
    async (length) => {
      const id = newId();
      const all = Array.from({ length }, (_, index) => ["a", "é", "€", "😀"][(index * 3) % 4]);
      await putAs(id, "a", { body: all.join(""), type: TEXT });
      for (const from of [0, 7, 2_500, length - 4, Math.floor(length * 0.7)]) {
        const part = await (await get(id, `a?offset=${from}&limit=3`)).text();
        expect(part).toBe(all.slice(from, from + 3).join(""));
      }
    },
  );

  it("are refused where there is nothing to count", async () => {
    const id = newId();
    await put(id, "a", { b: 5, c: { d: null } });
    for (const query of ["offset=1", "limit=1", "path=.b&offset=1", "path=.c&limit=0"]) {
      await problemIn(await get(id, `a?${query}`), "bad_request");
    }
    await problemIn(await get(id, "a?path=.none&offset=1"), "path_not_found");
  });
});
