import { describe, expect, it } from "vitest";
import { get, newId, problemIn, put, call, json, objectOf } from "../../support/edge.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { runInDurableObject } from "cloudflare:test";
import { exportOf, fork, imported } from "../../support/transfer.ts";
import type { Json } from "../../../src/value/json.ts";

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
    ["text/xml", "attachment"],
    ["text/css", "attachment"],
    ["multipart/x-mixed-replace", "attachment"],
  ])("of %s are returned unchanged, %s", async (type, disposition) => {
    const id = newId();
    const bytes = anyBytes(300);
    const sent = await putAs(id, "a", { body: bytes, type: type });
    expect(sent.status).toBe(201);
    const info = { type: "bytes", count: 300, bytes: 300, mediaType: type, shape: "bytes" };
    expect(await sent.json()).toMatchObject(info);
    // Nothing of it can run as a script, however it is read.
    for (const asked of [{}, { range: "bytes=0-99" }, { accept: "text/html" }]) {
      const response = await getWith(id, "a", asked);
      const { headers } = response;
      const returned = "range" in asked ? bytes.slice(0, 100) : bytes;
      expect(await bytesOf(response)).toEqual([...returned]);
      expect(headers.get("content-type")).toBe(type);
      const expected = disposition === "inline" ? null : "attachment";
      expect(headers.get("content-disposition")).toBe(expected);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
      expect(headers.get("cache-control")).toBe("private, no-cache");
    }
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

  it.each([1, 70_000, 2_000_000])("that is not UTF-8 at its byte %i is refused", async (place) => {
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

describe("representations", () => {
  const JSON_TYPE = "application/json";
  const at = (id: string, rest = "") => `/conversations/${id}/variables/a${rest}`;

  interface Case {
    readonly type: string;
    readonly body: string;
    /** The body for each `Accept` header; the first is the default. */
    readonly forms: Readonly<Record<string, string>>;
  }

  const cases: Readonly<Record<string, Case>> = {
    "a JSON array": {
      type: JSON_TYPE,
      body: '[{"a":1},"é"]',
      forms: { [JSON_TYPE]: '[{"a":1},"é"]', [NDJSON]: '{"a":1}\n"é"\n' },
    },
    "a JSON object": {
      type: JSON_TYPE,
      body: '{"a":[1]}',
      forms: { [JSON_TYPE]: '{"a":[1]}' },
    },
    records: {
      type: NDJSON,
      body: '{"a":1}\n2\n',
      forms: { [JSON_TYPE]: '[{"a":1},2]', [NDJSON]: '{"a":1}\n2\n' },
    },
    text: {
      type: TEXT,
      body: '\ufeff"é\n\u2028</script>',
      forms: {
        [TEXT]: '\ufeff"é\n\u2028</script>',
        [JSON_TYPE]: JSON.stringify('\ufeff"é\n\u2028</script>'),
      },
    },
    bytes: { type: "image/png", body: "PNG!", forms: { "image/png": "PNG!" } },
  };

  const utf8 = (text: string) => [...new TextEncoder().encode(text)];

  describe.each(Object.entries(cases))("%s", (_, { type, body, forms }) => {
    const names = Object.keys(forms);

    async function saved(): Promise<{ id: string; etags: ReadonlyMap<string, string> }> {
      const id = newId();
      const { headers } = await putAs(id, "a", { body, type });
      const etags = new Map<string, string>();
      for (const [accept, form] of Object.entries(forms)) {
        const response = await getWith(id, "a", { accept });
        expect(response.headers.get("content-type")).toBe(
          accept === TEXT ? "text/plain; charset=utf-8" : accept,
        );
        expect(response.headers.get("vary")).toBe("accept");
        expect(await bytesOf(response)).toEqual(utf8(form));
        etags.set(accept, response.headers.get("etag") ?? "");
      }
      const plain = await get(id, "a");
      expect(plain.headers.get("etag")).toBe(etags.get(names[0] ?? ""));
      expect(plain.headers.get("etag")).toBe(headers.get("etag"));
      expect(await bytesOf(plain)).toEqual(utf8(forms[names[0] ?? ""] ?? ""));
      return { id, etags };
    }

    it("has a different strong ETag for each representation", async () => {
      const { etags } = await saved();
      for (const etag of etags.values()) expect(etag).toMatch(/^"[^"]+"$/);
      expect(new Set(etags.values()).size).toBe(names.length);
    });

    it("matches If-None-Match and If-Match only by the ETag of the same representation", async () => {
      const { id, etags } = await saved();
      for (const accept of names) {
        for (const [known, etag] of etags) {
          const isSame = known === accept;
          for (const listed of [etag, `W/${etag}`, `"x", ${etag}`]) {
            const cached = await getWith(id, "a", { accept, "if-none-match": listed });
            expect([accept, known, cached.status]).toEqual([accept, known, isSame ? 304 : 200]);
            expect(cached.headers.get("etag")).toBe(etags.get(accept));
            expect(cached.headers.get("cache-control")).toBe("private, no-cache");
            await cached.arrayBuffer();
          }
          const expected = await getWith(id, "a", { accept, "if-match": etag });
          expect(expected.status).toBe(isSame ? 200 : 412);
          await expected.arrayBuffer();
          const weak = await getWith(id, "a", { accept, "if-match": `W/${etag}` });
          await problemIn(weak, "precondition_failed");
        }
      }
    });
  });

  describe("a text as JSON", () => {
    it.each([
      ["empty", ""],
      ["cut anywhere into parts", `a${'\u0001"\\é€😀\n'.repeat(160_000)}`],
    ])("is a JSON string of it: %s", async (_, text) => {
      const id = newId();
      await putAs(id, "a", { body: text, type: TEXT });
      const response = await getWith(id, "a", { accept: JSON_TYPE });
      expect(await response.json()).toBe(text);
    });
  });

  describe("metadata", () => {
    const patch = (id: string, changes: object, etag: string) =>
      call("PATCH", at(id), json(changes, { "if-match": etag }));
    const etagIn = ({ headers }: Response) => headers.get("etag") ?? "";

    it("have their own version: of two changes to one version, one wins", async () => {
      const id = newId();
      const written = etagIn(await call("PUT", at(id), json(1)));
      const read = etagIn(await get(id, "a/info"));
      const first = await patch(id, { description: "first" }, read);
      expect(first.status).toBe(200);
      for (const stale of [read, written]) {
        const problem = await problemIn(
          await patch(id, { pinned: true }, stale),
          "precondition_failed",
        );
        expect(etagIn(await get(id, "a/info"))).toContain(String(problem["etag"]).slice(0, -1));
      }
      const second = await patch(id, { pinned: true }, etagIn(first));
      expect(await second.json<VariableInfo>()).toMatchObject({
        description: "first",
        pinned: true,
        version: 1,
        metadataVersion: 2,
      });
      // The value is unchanged, so its ETag is still valid for a write.
      const writing = await call("PUT", at(id), json(2, { "if-match": written }));
      expect(await writing.json()).not.toHaveProperty("metadataVersion");
      await problemIn(await patch(id, { pinned: false }, etagIn(second)), "precondition_failed");
      expect((await patch(id, { pinned: false }, etagIn(writing))).status).toBe(200);
    });
  });

  describe("a content type", () => {
    it.each([
      "image/png; charset=x, text/html",
      "application/json, text/html",
      "text/plain; x, text/html",
      "png",
      `image/png; x=${"x".repeat(300)}`,
      "image/png,text/html",
      "text/html;image/png",
    ])("%s is refused", async (type) => {
      await problemIn(await putAs(newId(), "a", { body: "1", type }), "unsupported_media_type");
    });
  });
});

const CSV = "text/csv";

it("a CSV is saved as records, and served as JSON, NDJSON or CSV", async () => {
  const id = newId();
  const body = 'id,name,note\r\n1,"Ann, B.",\r\n2,Bob,"say ""hi"""\r\n';
  const sent = await putAs(id, "people", { body, type: "text/csv; charset=UTF-8" });
  expect(sent.status).toBe(201);
  const mediaType = "text/csv; charset=UTF-8";
  expect(await sent.json()).toMatchObject({ type: "array", count: 2, mediaType });
  const records = [
    { id: 1, name: "Ann, B.", note: "" },
    { id: 2, name: "Bob", note: 'say "hi"' },
  ];
  const json = await get(id, "people");
  expect(await json.json()).toEqual(records);
  const csv = await getWith(id, "people", { accept: CSV });
  expect(csv.headers.get("content-type")).toBe(mediaType);
  expect(csv.headers.get("content-disposition")).toBe("attachment");
  expect(csv.headers.get("etag")).not.toBe(json.headers.get("etag"));
  expect(await csv.text()).toBe(body);
  const part = await getWith(id, "people?offset=1&limit=1", { accept: CSV });
  expect(await part.text()).toBe('id,name,note\r\n2,Bob,"say ""hi"""\r\n');
  const etag = csv.headers.get("etag") ?? "";
  const again = await getWith(id, "people", { accept: CSV, "if-none-match": etag });
  expect(again.status).toBe(304);
});

it("a JSON array is served as CSV, and nothing else is", async () => {
  const id = newId();
  await putAs(id, "list", { body: '[{"a":1},{"b":[2]},3]', type: "application/json" });
  const csv = await getWith(id, "list", { accept: CSV });
  expect(await csv.text()).toBe("a,b,value\r\n1,,\r\n,[2],\r\n,,3\r\n");
  await putAs(id, "one", { body: '{"a":1}', type: "application/json" });
  const one = await getWith(id, "one", { accept: `${CSV}, */*;q=0.1` });
  expect(one.headers.get("content-type")).toBe("application/json");
});

it("a changed CSV is records, and an undo gives the file back", async () => {
  const id = newId();
  const body = "id,n\n1,1.50\n";
  for (const type of [CSV, NDJSON]) {
    await putAs(id, "a", { body, type: CSV });
    const added = type === CSV ? "n,id\r\n2.0,x\r\n" : '{"n":2.0,"id":"x"}';
    expect((await putAs(id, "a?mode=append", { body: added, type })).status).toBe(200);
    expect(await (await get(id, "a")).json()).toEqual([
      { id: 1, n: 1.5 },
      { n: 2, id: "x" },
    ]);
    const csv = await getWith(id, "a", { accept: CSV });
    expect(await csv.text()).toMatch(/^id,n\r\n1,1.5\d*\r\nx,2(\.0)?\r\n$/);
    await runInDurableObject(objectOf(id), (object) => object.parts.context.store.undo("a"));
    expect(await (await getWith(id, "a", { accept: CSV })).text()).toBe(body);
    expect(await (await get(id, "a?path=[0].n")).json()).toBe(1.5);
  }
  await putAs(id, "lines", { body: '{"id":1}', type: NDJSON });
  await putAs(id, "lines?mode=append", { body: "id\n2\n", type: CSV });
  expect(await (await get(id, "lines")).json()).toEqual([{ id: 1 }, { id: 2 }]);
});

it("the query says how a CSV is read", async () => {
  const id = newId();
  await putAs(id, "a?delimiter=semicolon&types=off", { body: "x;y\n1;2", type: CSV });
  expect(await (await get(id, "a")).json()).toEqual([{ x: "1", y: "2" }]);
  await putAs(id, "b?delimiter=auto", { body: "x|y\n1|2", type: CSV });
  expect(await (await get(id, "b")).json()).toEqual([{ x: 1, y: 2 }]);
  await putAs(id, "c", { body: "x\ty\n1\t2", type: "text/tab-separated-values" });
  expect(await (await get(id, "c")).json()).toEqual([{ x: 1, y: 2 }]);
  await problemIn(await putAs(id, "d?types=on", { body: "x", type: CSV }), "bad_request");
});

it("a broken CSV is refused with its line, and saves nothing", async () => {
  const id = newId();
  const refused = await putAs(id, "a", { body: 'x,y\n1,"2\n', type: CSV });
  expect((await problemIn(refused, "bad_value")).detail).toBe(
    "Line 2 has a quote that is not closed.",
  );
  await problemIn(await get(id, "a"), "variable_not_found");
  const semicolons = await putAs(id, "a", { body: "x;y\n1,5;2\n", type: CSV });
  expect((await problemIn(semicolons, "bad_value")).detail).toBe(
    "Line 2 has 2 cells, and the first line has 1. If a comma does not separate them, set ?delimiter=auto.",
  );
  const latin = await putAs(id, "a", { body: "x", type: "text/csv; charset=latin1" });
  await problemIn(latin, "unsupported_media_type");
});

describe("exact", () => {
  const JSON_TYPE = "application/json";
  const NDJSON = "application/x-ndjson";

  const at = (id: string, name = "a") => `/conversations/${id}/variables/${name}`;

  function putBody(path: string, body: string, type = JSON_TYPE): Promise<Response> {
    return call("PUT", path, { body, headers: { "content-type": type } });
  }

  async function textOf(response: Promise<Response>): Promise<string> {
    return (await response).text();
  }

  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: index, text: "é".repeat(40) }));

  /** Bodies that a parser and a writer of JSON would change. */
  const BODIES: Readonly<Record<string, readonly [type: string, body: string]>> = {
    "white space": [JSON_TYPE, '\r\n{ "a" : [ 1 ,\t2 ] }\n'],
    "numbers with zeros at their end": [JSON_TYPE, "[1.0, 1.10, 1e2, -0.0, 1E+2]"],
    "ids beyond doubles": [JSON_TYPE, '[{"id":1234567890123456789},{"id":1234567890123456790}]'],
    "numbers out of range": [JSON_TYPE, "[1e400,-1e999,1e-400]"],
    "a long decimal": [JSON_TYPE, "0.1234567890123456789"],
    "a key twice": [JSON_TYPE, '{"a":1,"b":2,"a":3}'],
    "special keys": [JSON_TYPE, '{"__proto__":{"a":1},"constructor":{"prototype":1},"":2}'],
    escapes: [JSON_TYPE, String.raw`["\u00e9\/\u0041", "\ud800"]`],
    "a byte order mark": [JSON_TYPE, "\uFEFF[1, 2]"],
    "an indented long array": [JSON_TYPE, `${JSON.stringify(rows(2_000), null, 2)}\n`],
    "an indented array that arrives in parts": [
      JSON_TYPE,
      JSON.stringify(rows(20_000), null, "\t"),
    ],
    "an indented long object": [JSON_TYPE, JSON.stringify({ rows: rows(2_000) }, null, 2)],
    "records without a last line end": [NDJSON, '{"id":1234567890123456789}\n{"id":2.0}'],
    "records with blank lines and CRLF": [NDJSON, '\r\n{"id": 1}\r\n\r\n \t\n{"id": 2}\r\n\n'],
    "records after a byte order mark": [NDJSON, '\uFEFF{"id":1}\n{"id":2}\n'],
    "many records with spaces": [
      NDJSON,
      rows(3_000)
        .map((row) => ` ${JSON.stringify(row)} \r\n`)
        .join(""),
    ],
  };

  describe.each(Object.entries(BODIES))("a body with %s", (_, [type, body]) => {
    it("is given back byte by byte, also after an export, an import and a copy", async () => {
      const id = newId();
      expect((await putBody(at(id), body, type)).status).toBe(201);
      const whole = (of: string) => call("GET", at(of), { headers: { accept: type } });
      const isSame = async (of: string) =>
        sent.equals(new Uint8Array(await (await whole(of)).arrayBuffer()));
      const sent = Buffer.from(body);
      expect(await isSame(id)).toBe(true);
      expect(await isSame(await imported(await exportOf(id)))).toBe(true);
      expect(await isSame(await fork(id))).toBe(true);
    });
  });

  describe.each(["1234567890123456789", "9007199254740993", "1e400", "0.1234567890123456789"])(
    "the number %s",
    (digits) => {
      const records = `{"id":${digits},"n":1}\n{"id":2,"n":2}\n`;

      it.each([
        ["JSON", JSON_TYPE, `[{"id":${digits},"n":1},{"id":2,"n":2}]`],
        ["NDJSON", NDJSON, records],
      ])("of %s has its digits in every part and text", async (_, type, body) => {
        const id = newId();
        await putBody(at(id), body, type);
        const path = (of: string) => textOf(get(id, `a?path=${encodeURIComponent(of)}`));
        expect(await path("[0].id")).toBe(digits);
        expect(await path("[*].id")).toBe(`[${digits},2]`);
        expect(await path("[0:1]")).toBe(`[{"id":${digits},"n":1}]`);
        const as = (accept: string) => textOf(call("GET", at(id), { headers: { accept } }));
        expect(await as(NDJSON)).toBe(records);
        expect(await as("text/csv")).toBe(`id,n\r\n${digits},1\r\n2,2\r\n`);
        const text = "First: {{a[0].id}}, all: {{a}}";
        const answer = await call("POST", `/conversations/${id}/interpolate`, json({ text }));
        expect((await answer.json<{ text: string }>()).text).toContain(`First: ${digits}, all: `);
        const info = await (await get(id, "a/info")).json<{ preview: string }>();
        expect(info.preview).toContain(digits);
      });
    },
  );
});

/** Half of an emoji, which JSON can hold and UTF-8 cannot. */
const HALF = "\ud83d";
const RECORDS = [{ note: "whole" }, { note: `a😀b${HALF}c`, deep: { text: HALF } }];

const path = (id: string, at: string) => `/conversations/${id}/${at}`;

async function withRecords(value: Json = RECORDS): Promise<string> {
  const id = newId();
  await put(id, "rows", value);
  return id;
}

const query = (id: string, sql: string) => call("POST", path(id, "query"), json({ sql }));

describe("half of a character is refused with its place", () => {
  const AT_NOTE = { path: "[1].note", character: 4 };
  it.each<[channel: string, ask: (id: string) => Promise<Response>, place: object]>([
    ["CSV", (id) => getWith(id, "rows", { accept: "text/csv" }), AT_NOTE],
    [
      "a part as CSV",
      (id) => getWith(id, "rows?offset=1", { accept: "text/csv" }),
      { character: 4 },
    ],
    ["a table of a query", (id) => query(id, "SELECT count(*) FROM rows"), AT_NOTE],
    ["a parameter", (id) => query(id, "SELECT $rows[1].note AS a"), { path: "[1].note" }],
    [
      "a list of parameters",
      (id) => query(id, "SELECT 1 WHERE 'a' IN $rows[*].note"),
      { character: 4 },
    ],
    ["a statement", (id) => query(id, `SELECT 'é${HALF}'`), { path: "", character: 10 }],
    [
      "a title",
      (id) => call("PATCH", `/conversations/${id}`, json({ title: `a${HALF}` })),
      { character: 2 },
    ],
  ])("%s", async (_, ask, place) => {
    const problem = await problemIn(await ask(await withRecords()), "bad_value");
    expect(problem).toMatchObject(place);
    expect(problem.detail).toMatch(/^Half of a character \(a lone surrogate\).* cannot hold it\. /);
  });
});
