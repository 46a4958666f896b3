import { describe, expect, it } from "vitest";
import { call, get, json, newId } from "../../support/edge.ts";
import { exportOf, fork, imported } from "../../support/transfer.ts";

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
  "an indented array that arrives in parts": [JSON_TYPE, JSON.stringify(rows(20_000), null, "\t")],
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
    const bytesOf = async (of: string) => [
      ...new Uint8Array(await (await whole(of)).arrayBuffer()),
    ];
    const sent = [...new TextEncoder().encode(body)];
    expect(await bytesOf(id)).toEqual(sent);
    expect(await bytesOf(await imported(await exportOf(id)))).toEqual(sent);
    expect(await bytesOf(await fork(id))).toEqual(sent);
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
