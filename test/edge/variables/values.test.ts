import { describe, expect, it } from "vitest";
import { get, newId, problemIn, put } from "../../support/edge.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

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
});

describe("text", () => {
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
});
