import { expect, it } from "vitest";
import { get, newId, objectOf, problemIn } from "../../support/edge.ts";
import { getWith, NDJSON, putAs } from "../../support/values.ts";
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
