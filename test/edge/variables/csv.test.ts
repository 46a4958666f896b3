import { expect, it } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { get, newId, objectOf, problemIn } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { getWith, NDJSON, putAs } from "../../support/values.ts";
import { runInDurableObject } from "cloudflare:test";

const CSV = "text/csv";

it("a CSV is saved as records, and served as JSON, NDJSON or CSV", async () => {
  const id = newId();
  const body = 'id,name,note\r\n1,"Ann, B.",\r\n2,Bob,"say ""hi"""\r\n';
  const sent = await putAs(id, "people", { body, type: "text/csv; charset=UTF-8" });
  expect(sent.status).toBe(201);
  expect(await sent.json()).toMatchObject({ type: "array", count: 2, mediaType: NDJSON });
  const records = [
    { id: 1, name: "Ann, B.", note: "" },
    { id: 2, name: "Bob", note: 'say "hi"' },
  ];
  const json = await get(id, "people");
  expect(await json.json()).toEqual(records);
  const csv = await getWith(id, "people", { accept: CSV });
  expect(csv.headers.get("content-type")).toBe(CSV);
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
  expect((await problemIn(refused, "bad_csv")).detail).toBe(
    "Line 2 has a quote that is not closed.",
  );
  await problemIn(await get(id, "a"), "variable_not_found");
  const semicolons = await putAs(id, "a", { body: "x;y\n1,5;2\n", type: CSV });
  expect((await problemIn(semicolons, "bad_csv")).detail).toBe(
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
  expect(csv.replaceAll("\r\n", "\n")).toBe(body);
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
