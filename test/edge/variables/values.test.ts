import { expect, it } from "vitest";
import { get, newId, problemIn, call, json } from "../../support/edge.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { type Exchange, httpCases } from "../../support/http-cases.ts";
import { exportOf, fork, imported } from "../../support/transfer.ts";

// Megabytes take longer on a busy machine.
it.each([
  ["image/png", "inline"],
  ["image/gif", "inline"],
  ["IMAGE/PNG", "inline"],
  ["image/svg+xml", "attachment"],
  ["text/html", "attachment"],
  ["text/html; charset=iso-8859-1", "attachment"],
  ["text/calendar; charset=utf-8; method=request", "attachment"],
  ["application/pdf", "attachment"],
  ["application/octet-stream", "attachment"],
  ["image/png2", "attachment"],
])("bytes of %s are returned unchanged, %s", async (type, disposition) => {
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

const raw = (type: string, body: BodyInit, headers = {}) => ({
  body,
  headers: { "content-type": type, ...headers },
});
const accept = (type: string, headers = {}) => ({ headers: { accept: type, ...headers } });
/** A text whose byte at this place is never valid in UTF-8. */
const wrongAt = (place: number) =>
  new Uint8Array(place + 10).fill(0x61).fill(0xff, place, place + 1);
const CSV = "text/csv";
const JSON_TYPE = "application/json";
const PUT = "PUT /variables/a";
const GET = "GET /variables/a";

const UNTIDY = '\uFEFF {"id":1,"name":"é€😀"}\r\n\n[2]  \n\t\n\tnull\n"four"';
const AS_ARRAY = '[{"id":1,"name":"é€😀"},[2],null,"four"]';
const asJson = { "content-type": JSON_TYPE, "content-disposition": null, vary: "accept" };
const asLines = { "content-type": NDJSON, "content-disposition": "attachment", vary: "accept" };
const PEOPLE = 'id,name,note\r\n1,"Ann, B.",\r\n2,Bob,"say ""hi"""\r\n';
const TYPE = "text/csv; charset=UTF-8";
const DIGITS = "1234567890123456789";
const CHARACTERS = [..."a😀é€👩‍👩‍👧z"];
const LIST = CHARACTERS.map((character, index) => [index, character]);
const NINE = anyBytes(9);
/** A query of a part, and where the part begins and ends. */
const PARTS: readonly (readonly [query: string, from: number, to: number])[] = [
  ["offset=0", 0, 99],
  ["offset=1", 1, 99],
  ["offset=1&limit=1", 1, 2],
  ["limit=2", 0, 2],
  ["offset=4&limit=3", 4, 7],
  ["offset=99", 99, 99],
  ["offset=3&limit=0", 3, 3],
  ["limit=999999999999999", 0, 99],
];
const LONG_TEXT = `a${'\u0001"\\é€😀\n'.repeat(160_000)}`;
const TYPES = [
  "image/png; charset=x, text/html",
  "application/json, text/html",
  "text/plain; x, text/html",
  "png",
  `image/png; x=${"x".repeat(300)}`,
  "image/png,text/html",
  "text/html;image/png",
];

httpCases({
  "a text that is not UTF-8 is refused, and saves nothing": [
    ...["utf-16le", "iso-8859-1", "nonsense"].map((charset): Exchange => [
      PUT,
      raw(`text/plain; charset=${charset}`, "a\0b\0"),
      "unsupported_media_type",
      { detail: expect.stringContaining("UTF-8") },
    ]),
    ...[1, 70_000, 2_000_000].map((place): Exchange => [
      PUT,
      raw(TEXT, wrongAt(place)),
      "bad_value",
    ]),
    [GET, "variable_not_found"],
  ],
  "a text as JSON is a JSON string, wherever it is cut into parts": [
    [PUT, raw(TEXT, LONG_TEXT), 201],
    [GET, accept(JSON_TYPE), 200, new TextEncoder().encode(JSON.stringify(LONG_TEXT))],
  ],
  "a body that is compressed or in parts is refused (postmanlabs/httpbin#577, sabre-io/dav#137)": [
    [PUT, raw("image/png", "x", { "content-encoding": "gzip" }), "unsupported_media_type"],
    [PUT, raw(TEXT, "bar", { "content-range": "bytes 3-5/6" }), "unsupported_media_type"],
    [GET, "variable_not_found"],
    [PUT, raw(TEXT, "x", { "content-encoding": "Identity" }), 201],
  ],
  "a wrong content type is refused": TYPES.map((type) => [
    PUT,
    raw(type, "1"),
    "unsupported_media_type",
  ]),
  "records are read as a JSON array, or as lines on request": [
    [PUT, raw(`${NDJSON}; charset=utf-8`, UNTIDY), 201, { type: "array", count: 4 }],
    ...[JSON_TYPE, "*/*", "text/html"].map((type): Exchange => [
      GET,
      accept(type),
      200,
      AS_ARRAY,
      asJson,
    ]),
    [GET, accept(NDJSON), 200, UNTIDY, asLines],
  ],
  "invalid records are refused, and the first of them is named": [
    [PUT, json("before"), 201],
    [PUT, raw(NDJSON, '{"a":1}\n{"b":}\n'), "bad_json", { record: 2, line: 2 }],
    [PUT, raw(NDJSON, '\n\n{"a":\n1}\n'), "bad_json", { record: 1, line: 3 }],
    [GET, 200, "before"],
  ],
  "?offset= and ?limit= count characters of a text, elements of an array, bytes of bytes": [
    ["PUT /variables/text", raw(TEXT, CHARACTERS.join("")), 201],
    ["PUT /variables/list", json(LIST), 201],
    ["PUT /variables/object", json({ "the list": LIST }), 201],
    [
      "PUT /variables/records",
      raw(NDJSON, LIST.map((pair) => JSON.stringify(pair)).join("\n")),
      201,
    ],
    ["PUT /variables/bytes", raw("image/png", NINE), 201],
    ...PARTS.flatMap(([query, from, to]): Exchange[] => {
      const part = JSON.stringify(LIST.slice(from, to));
      return [
        [`GET /variables/text?${query}`, 200, CHARACTERS.slice(from, to).join("")],
        [`GET /variables/list?${query}`, 200, part],
        [`GET /variables/records?${query}`, 200, part],
        [`GET /variables/object?path=["the list"]&${query}`, 200, part],
        [`GET /variables/bytes?${query}`, 200, NINE.slice(from, to)],
      ];
    }),
  ],
  "a CSV is saved as records, and served as JSON or CSV": [
    [PUT, raw(TYPE, PEOPLE), 201, { type: "array", count: 2, mediaType: TYPE }],
    [
      GET,
      200,
      '[{"id":1,"name":"Ann, B.","note":""},{"id":2,"name":"Bob","note":"say \\"hi\\""}]',
      asJson,
    ],
    [GET, accept(CSV), 200, PEOPLE, { "content-type": TYPE, "content-disposition": "attachment" }],
    [GET, (etag) => accept(CSV, { "if-none-match": etag }), 304],
    [GET, (etag) => accept(JSON_TYPE, { "if-none-match": etag }), 200],
    [`${GET}?offset=1&limit=1`, accept(CSV), 200, 'id,name,note\r\n2,Bob,"say ""hi"""\r\n'],
  ],
  "a JSON array is served as CSV, and nothing else is": [
    [PUT, raw(JSON_TYPE, '[{"a":1},{"b":[2]},3]'), 201],
    [GET, accept(CSV), 200, "a,b,value\r\n1,,\r\n,[2],\r\n,,3\r\n"],
    // The ETag of a representation is one of its state, too.
    [PUT, (etag) => raw(JSON_TYPE, '{"a":1}', { "if-match": etag }), 200],
    [GET, accept(`${CSV}, */*;q=0.1`), 200, '{"a":1}', asJson],
  ],
  "the query says how a CSV is read": [
    [`${PUT}?delimiter=semicolon&types=off`, raw(CSV, "x;y\n1;2"), 201],
    [GET, 200, '[{"x":"1","y":"2"}]'],
    [`${PUT}?delimiter=auto`, raw(CSV, "x|y\n1|2"), 200],
    [GET, 200, '[{"x":1,"y":2}]'],
    [PUT, raw("text/tab-separated-values", "x\ty\n1\t2"), 200],
    [GET, 200, '[{"x":1,"y":2}]'],
    [`${PUT}?types=on`, raw(CSV, "x"), "bad_request"],
  ],
  "a broken CSV is refused with its line, and saves nothing": [
    [
      PUT,
      raw(CSV, "x;y\n1,5;2\n"),
      "bad_value",
      {
        detail:
          "Line 2 has 2 cells, and the first line has 1. If a comma does not separate them, set ?delimiter=auto.",
      },
    ],
    [PUT, raw("text/csv; charset=latin1", "x"), "unsupported_media_type"],
    [GET, "variable_not_found"],
  ],
  // Other numbers beyond doubles: test/edge-node/exact-channels.test.ts.
  "a number beyond doubles has its digits in every part and text": [
    [PUT, raw(JSON_TYPE, `[{"id":${DIGITS},"n":1},{"id":2,"n":2}]`), 201],
    [`${GET}?path=[0].id`, 200, DIGITS],
    [`${GET}?path=[*].id`, 200, `[${DIGITS},2]`],
    [`${GET}?path=[0:1]`, 200, `[{"id":${DIGITS},"n":1}]`],
    [GET, accept(NDJSON), 200, `{"id":${DIGITS},"n":1}\n{"id":2,"n":2}\n`],
    [GET, accept(CSV), 200, `id,n\r\n${DIGITS},1\r\n2,2\r\n`],
    [`${GET}/info`, 200, { preview: expect.stringContaining(DIGITS) }],
    [
      "POST /interpolate",
      json({ text: "First: {{a[0].id}}, all: {{a}}" }),
      200,
      { text: expect.stringContaining(`First: ${DIGITS}, all: `) },
    ],
  ],
});

/** A value's type, its body, and its body for each `Accept`, of which the first is the default. */
type Forms = readonly [type: string, body: string, forms: Readonly<Record<string, string>>];
const ODD_TEXT = '\ufeff"é\n\u2028</script>';
const VALUES: Readonly<Record<string, Forms>> = {
  "a JSON array": [
    JSON_TYPE,
    '[{"a":1},"é"]',
    { [JSON_TYPE]: '[{"a":1},"é"]', [NDJSON]: '{"a":1}\n"é"\n' },
  ],
  "a JSON object": [JSON_TYPE, '{"a":[1]}', { [JSON_TYPE]: '{"a":[1]}' }],
  records: [NDJSON, '{"a":1}\n2\n', { [JSON_TYPE]: '[{"a":1},2]', [NDJSON]: '{"a":1}\n2\n' }],
  text: [TEXT, ODD_TEXT, { [TEXT]: ODD_TEXT, [JSON_TYPE]: JSON.stringify(ODD_TEXT) }],
  bytes: ["image/png", "PNG!", { "image/png": "PNG!" }],
  "an empty text": [TEXT, "", { [TEXT]: "", [JSON_TYPE]: '""' }],
};
const private_ = { etag: expect.stringMatching(/^"[^"]+"$/), "cache-control": "private, no-cache" };

/** Requests for one form, and for each with the ETag of this one: only the same form matches. */
function ofForm(form: string, body: string, others: readonly string[]): readonly Exchange[] {
  const headers = {
    ...private_,
    "content-type": form === TEXT ? "text/plain; charset=utf-8" : form,
    vary: "accept",
  };
  const own = [GET, accept(form), 200, new TextEncoder().encode(body), headers] as const;
  const matching = (name: string, written: (etag: string) => string) => (etag: string) =>
    accept(form, { [name]: written(etag) });
  const same: readonly Exchange[] = [
    own,
    [GET, matching("if-none-match", (etag) => `W/${etag}`), 304, undefined, private_],
    [GET, matching("if-none-match", (etag) => `"x", ${etag}`), 304, undefined, private_],
    [GET, matching("if-match", String), 200],
    [GET, matching("if-match", (etag) => `W/${etag}`), 200],
  ];
  const different = others.flatMap((other): Exchange[] => [
    own,
    [GET, (etag) => accept(other, { "if-none-match": etag }), 200, undefined, private_],
    own,
    [GET, (etag) => accept(other, { "if-match": etag }), "precondition_failed"],
  ]);
  return [...same, ...different];
}

httpCases(
  Object.fromEntries(
    Object.entries(VALUES).map(([what, [type, body, forms]]) => [
      `${what} has a form, and an ETag, for each Accept`,
      [
        [PUT, raw(type, body), 201],
        [GET, (etag) => accept("*/*", { "if-match": etag }), 200, Object.values(forms)[0]],
        ...Object.entries(forms).flatMap(([form, as]) =>
          ofForm(
            form,
            as,
            Object.keys(forms).filter((other) => other !== form),
          ),
        ),
      ],
    ]),
  ),
);

const at = (id: string, rest = "") => `/conversations/${id}/variables/a${rest}`;
const patch = (id: string, changes: object, etag: string) =>
  call("PATCH", at(id), json(changes, { "if-match": etag }));
const etagIn = ({ headers }: Response) => headers.get("etag") ?? "";

it("metadata have their own version: of two changes to one version, one wins", async () => {
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

const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: index, text: "é".repeat(40) }));

/** Bodies that a parser and a writer of JSON would change. */
const BODIES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  "white space": [JSON_TYPE, '\r\n{ "a" : [ 1 ,\t2 ] }\n'],
  "numbers with zeros at their end": [JSON_TYPE, "[1.0, 1.10, 1e2, -0.0, 1E+2]"],
  "numbers beyond doubles": [JSON_TYPE, '[{"id":1234567890123456789},1e400,0.1234567890123456789]'],
  "a key twice": [JSON_TYPE, '{"a":1,"b":2,"a":3}'],
  "special keys": [JSON_TYPE, '{"__proto__":{"a":1},"constructor":{"prototype":1},"":2}'],
  escapes: [JSON_TYPE, String.raw`["\u00e9\/\u0041", "\ud800"]`],
  "a byte order mark": [JSON_TYPE, "\uFEFF[1, 2]"],
  "an indented array that arrives in parts": [JSON_TYPE, JSON.stringify(rows(20_000), null, "\t")],
  "an indented long object": [JSON_TYPE, JSON.stringify({ rows: rows(2_000) }, null, 2)],
  "records without a last line end": [NDJSON, '{"id":1234567890123456789}\n{"id":2.0}'],
  "records with blank lines and CRLF": [NDJSON, '\uFEFF\r\n{"id": 1}\r\n\r\n \t\n{"id": 2}\r\n\n'],
};

it.each(Object.entries(BODIES))(
  "a body with %s is given back byte by byte, also after an export, an import and a copy",
  async (_, [type, body]) => {
    const id = newId();
    expect((await putAs(id, "a", { body, type })).status).toBe(201);
    const sent = Buffer.from(body);
    for (const of of [id, await imported(await exportOf(id)), await fork(id)]) {
      const whole = await getWith(of, "a", { accept: type });
      expect(sent.equals(new Uint8Array(await whole.arrayBuffer()))).toBe(true);
    }
  },
);

/** Half of an emoji, which JSON can hold and UTF-8 cannot. */
const HALF = "\ud83d";
const RECORDS = [{ note: "whole" }, { note: `a😀b${HALF}c`, deep: { text: HALF } }];

const CANNOT = /^Half of a character \(a lone surrogate\).* cannot hold it\. /;
const csv = accept(CSV);
const query = (sql: string) => json({ sql });

httpCases(
  Object.fromEntries(
    (
      [
        ["CSV", "GET /variables/rows", csv, { path: "[1].note", character: 4 }],
        ["a part as CSV", "GET /variables/rows?offset=1", csv, { character: 4 }],
        ["a table", "POST /query", query("SELECT count(*) FROM rows"), { path: "[1].note" }],
        ["a parameter", "POST /query", query("SELECT $rows[1].note AS a"), { path: "[1].note" }],
        [
          "a list of parameters",
          "POST /query",
          query("SELECT 1 WHERE 'a' IN $rows[*].note"),
          { character: 4 },
        ],
        ["a statement", "POST /query", query(`SELECT 'é${HALF}'`), { path: "", character: 10 }],
        ["a title", "PATCH ", json({ title: `a${HALF}` }), { character: 2 }],
        ["a description", "PATCH /variables/rows", json({ description: HALF }), { character: 1 }],
      ] as const
    ).map(([channel, request, init, place]) => [
      `half of a character in ${channel} is refused with its place`,
      [
        ["PUT /variables/rows", json(RECORDS), 201],
        [request, init, "bad_value", { ...place, detail: expect.stringMatching(CANNOT) }],
      ],
    ]),
  ),
);
