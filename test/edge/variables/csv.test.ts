import { describe, expect, it } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { get, newId, objectOf, problemIn } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { bytesOf, getWith, NDJSON, putAs } from "../../support/values.ts";
import { changed, exportOf, fork, importFile, imported } from "../../support/transfer.ts";
import { runInDurableObject } from "cloudflare:test";

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

const TSV = "text/tab-separated-values";
const long = (last: string) =>
  `id,text\n${Array.from({ length: 3_000 }, (_, id) => `${id},"é, ${"x".repeat(40)}"\n`).join("")}${last}`;

/** Files that a writer of CSV would write otherwise. `at`: the query. */
const FILES: Readonly<Record<string, { type?: string; at?: string; body: string }>> = {
  "LF at the end of lines": { body: "id,name\n1,Ann\n2,Bob\n" },
  "CR at the end of lines": { body: "id,name\r1,Ann\r2,Bob" },
  "blank lines": { body: "\n\r\n\nid\n\n1\n\n\n2\n\n" },
  "a byte order mark": { body: "\uFEFFid,name\r\n1,Ann\r\n" },
  "quotes where none are needed": { body: '"id","name"\r\n"1","Ann"\r\n' },
  "line breaks in cells": { body: 'id,"na\nme"\n1,"Ann\r\nB"\n2,"\r"\n' },
  "zeros at the end of numbers": { body: "n,m\n1.50,0.10\n2.00,1.0\n" },
  "short rows": { body: "a,b,c\n1\n1,2\n1,2,3\n" },
  "a key twice and one without a name": { body: "a,a,,a_2\n1,2,3,4\n" },
  "special keys": { body: "__proto__,constructor,\n1,2,3\n" },
  "no rows": { body: "id,name" },
  "no content": { body: "" },
  "a line that names the separator": { body: "sep=;\r\nid;name\r\n1;a,b\r\n" },
  "one that is a row": { body: "sep=;\nsep=;\n1;2\n" },
  semicolons: { at: "?delimiter=semicolon", body: "id;name\n1;a,b\n" },
  "a first row after many blank lines": {
    at: "?delimiter=auto",
    body: `${"\n".repeat(10_000)}id;name\n1;a,b\n`,
  },
  "bars that are found": { at: "?delimiter=auto", body: "\n\nid|name\n1|a;b\n" },
  "cells that stay texts": { at: "?types=off&delimiter=auto", body: "id;x\n007;1\n" },
  tabs: { type: TSV, body: "id\tname\n1\ta,b\n" },
  "a type with a parameter": { type: "text/csv; header=present", body: "id\n1\n" },
  "a type too long for more": {
    type: `text/csv;${"x=y;".repeat(61)}`,
    at: "?types=off",
    body: "id\n1\n",
  },
  "many rows": { body: long("") },
  "many rows, the last of which changes a type": { body: long("last,x\n") },
};

describe.each(Object.entries(FILES))("a CSV with %s", (_, { type = CSV, at = "", body }) => {
  it("is given back byte by byte, and its records are a view of it", async () => {
    const id = newId();
    expect((await putAs(id, `a${at}`, { body, type })).status).toBe(201);
    const accept = type === TSV ? TSV : CSV;
    const sent = [...new TextEncoder().encode(body)];
    const records = await (await get(id, "a")).json<readonly object[]>();
    for (const of of [id, await imported(await exportOf(id)), await fork(id)]) {
      expect(await bytesOf(await getWith(of, "a", { accept }))).toEqual(sent);
      expect(await (await get(of, "a")).json()).toEqual(records);
      const lines = (await (await getWith(of, "a", { accept: NDJSON })).text()).split("\n");
      expect(lines.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual(records);
      for (const index of [0, 1, records.length - 1].filter((one) => records[one] !== undefined)) {
        const path = encodeURIComponent(`[${index}]`);
        expect(await (await get(of, `a?path=${path}`)).json()).toEqual(records[index]);
      }
      expect(await (await get(of, "a?offset=1&limit=2")).json()).toEqual(records.slice(1, 3));
    }
  });
});

it("a range of a CSV is one of its bytes", async () => {
  const id = newId();
  await putAs(id, "a", { body: "id\n1\n2\n", type: CSV });
  const part = await getWith(id, "a", { accept: CSV, range: "bytes=3-4" });
  expect([part.status, await part.text()]).toEqual([206, "1\n"]);
  const tabs = { body: "id\tb\n1\t2\n", type: TSV };
  const etags: (string | null)[] = [];
  for (const accept of ["application/json", NDJSON, CSV, TSV]) {
    await putAs(id, "t", tabs);
    etags.push(
      (await getWith(id, "t", { accept })).headers.get("etag")?.replace(/^"\d+/, "") ?? null,
    );
  }
  expect(new Set(etags).size).toBe(4);
  const other = await getWith(id, "t", { accept: CSV });
  expect(await other.text()).toBe("id,b\r\n1,2\r\n");
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

it("a file that says to be a CSV, and is none, is not imported", async () => {
  const id = newId();
  await putAs(id, "a", { body: "id\n1\n", type: CSV });
  const [broken] = [Buffer.from('id\n"1').toString("base64")];
  const file = await changed(await exportOf(id), "data", (line) => ({ ...line, base64: broken }));
  await problemIn(await importFile(file), "bad_value");
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

it("a long CSV whose last row changes a type leaves nothing behind", slow, async () => {
  const id = newId();
  const rows = Array.from(
    { length: 20_000 },
    (_, row) => `${row},${`some text ${row} `.repeat(30)}`,
  );
  const body = `n,text\n${rows.join("\n")}\nlast,x\n`;
  const sent = await putAs(id, "a", { body, type: CSV });
  const { count, location } = await sent.json<VariableInfo>();
  expect([count, location]).toEqual([20_001, "r2"]);
  const response = await get(id, "a?offset=19999&limit=2");
  expect(await response.json()).toEqual([
    { n: "19999", text: "some text 19999 ".repeat(30) },
    { n: "last", text: "x" },
  ]);
  const csv = await (await getWith(id, "a", { accept: CSV })).text();
  expect(csv).toBe(body);
  await runInDurableObject(objectOf(id), async (object) => {
    const { store } = object.parts.context;
    await store.sweep();
    expect(store.hasGarbage()).toBe(false);
  });
});

it("CSV is refused for records whose keys would make too many cells", async () => {
  const id = newId();
  const records = Array.from({ length: 5_000 }, (_, n) => ({ [`k${n}`]: n }));
  for (const type of ["application/json", "application/x-ndjson"]) {
    const lines = records.map((record) => JSON.stringify(record));
    const body = type === "application/json" ? `[${lines.join(",")}]` : lines.join("\n");
    await putAs(id, "wide", { body, type });
    for (const at of ["wide", "wide?offset=0&limit=5000"]) {
      const response = await getWith(id, at, { accept: CSV });
      const problem = await problemIn(response, "limit_exceeded");
      expect(problem).toMatchObject({ limit: "maxCsvCells" });
    }
  }
});
