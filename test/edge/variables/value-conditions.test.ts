import { describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, json, namesIn, newId, problemIn, put } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

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

  it("cuts text, JSON and lines in bytes too, and large values anywhere", slow, async () => {
    const id = newId();
    await putAs(id, "text", { body: "é€😀", type: TEXT });
    const text = await getWith(id, "text", { range: "bytes=1-4" });
    expect([text.status, text.headers.get("content-range")]).toEqual([206, "bytes 1-4/9"]);
    expect(await bytesOf(text)).toEqual([0xa9, 0xe2, 0x82, 0xac]);
    await put(id, "json", { a: [1, 2] });
    expect(await (await getWith(id, "json", { range: "bytes=5-" })).text()).toBe("[1,2]}");
    await putAs(id, "lines", { body: "1\n22\n333\n", type: NDJSON });
    const lines = await getWith(id, "lines", { range: "bytes=2-4", accept: NDJSON });
    expect([lines.status, await lines.text()]).toEqual([206, "22\n"]);
    // JSON has other bytes than the stored form, so the whole value is sent.
    const array = await getWith(id, "lines", { range: "bytes=2-4" });
    expect([array.status, await array.text()]).toEqual([200, "[1,22,333]"]);
    const large = anyBytes(9_000_000);
    await putAs(id, "large", { body: large, type: "video/mp4" });
    for (const [from, to] of [
      [1_048_570, 1_048_580],
      [8_388_600, 8_999_999],
      [100, 3_000_000],
    ] as const) {
      const part = await getWith(id, "large", { range: `bytes=${from}-${to - 1}` });
      expect(part.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/9000000`);
      const got = new Uint8Array(await part.arrayBuffer());
      expect(Buffer.compare(got, large.subarray(from, to))).toBe(0);
    }
  });

  it("applies only if If-Range names the current etag", async () => {
    const id = newId();
    await putAs(id, "a", { body: bytes, type: "image/png" });
    const etag = await etagOf(id);
    const range = "bytes=0-9";
    expect((await getWith(id, "a", { range, "if-range": etag })).status).toBe(206);
    await putAs(id, "a", { body: bytes, type: "image/png" });
    const others = [etag, `W/${await etagOf(id)}`];
    for (const other of others) {
      const response = await getWith(id, "a", { range, "if-range": other });
      expect([response.status, (await bytesOf(response)).length]).toEqual([200, 1_000]);
    }
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

  it("creates only what is missing, and changes only what exists", async () => {
    const id = newId();
    const none = await problemIn(await write(id, { "if-match": "*" }), "precondition_failed");
    expect(none).toMatchObject({ etag: null });
    expect((await write(id, { "if-none-match": "*" })).status).toBe(201);
    await problemIn(await write(id, { "if-none-match": "*" }), "precondition_failed");
    expect((await write(id, { "if-match": "*" })).status).toBe(200);
    expect(await (await get(id, "a/info")).json()).toMatchObject({ version: 2 });

    function write(id: string, headers: Headers) {
      return call("PUT", at(id), json(1, headers));
    }
  });

  it("returns its new etag, which no PATCH changes", async () => {
    const id = newId();
    const response = await call("PUT", at(id), json(1));
    const etag = response.headers.get("etag");
    expect(etag).toBe(await etagOf(id));
    await call("PATCH", at(id), json({ pinned: true }));
    expect(await etagOf(id)).toBe(etag);
    const { updatedAt } = await (await get(id, "a/info")).json<VariableInfo>();
    await call("DELETE", at(id));
    await vi.waitUntil(() => Date.now() > Date.parse(updatedAt));
    expect((await call("PUT", at(id), json(2))).headers.get("etag")).not.toBe(etag);
  });
});

describe("twenty concurrent writes", () => {
  const twenty = Array.from({ length: 20 }, (_, index) => index);

  it.each([
    ["small ones", json, (index: number) => ({ winner: index })],
    ["large ones", json, (index: number) => ({ winner: index, filling: "x".repeat(100_000) })],
  ])("with the same If-Match: one of them wins: %s", async (_, bodyOf, valueOf) => {
    const id = newId();
    await put(id, "a", "before");
    const etag = await etagOf(id);
    const responses = await Promise.all(
      twenty.map((index) => call("PUT", at(id), bodyOf(valueOf(index), { "if-match": etag }))),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(19);
    expect(await (await get(id, "a")).json()).toEqual(valueOf(statuses.indexOf(200)));
    expect(await (await get(id, "a/info")).json()).toMatchObject({ version: 2 });
  });

  it("with If-None-Match: *: one of them creates it, in the bucket too", async () => {
    const id = newId();
    const headers = { "if-none-match": "*" };
    const responses = await Promise.all(
      twenty.map((index) => {
        const body = new Uint8Array(100_000).fill(index);
        return putAs(id, "a", { body, type: "image/png", headers });
      }),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(19);
    expect(new Set(await bytesOf(await get(id, "a")))).toEqual(new Set([statuses.indexOf(201)]));
  });

  it.each([
    ["a text in its row", "", 100],
    ["a text in chunks", "x".repeat(100_000), 100],
    ["a text that grows from chunks into the bucket", "x".repeat(8_380_000), 1_000],
  ])("that append lose nothing: %s", slow, async (_, start, length) => {
    const id = newId();
    await put(id, "a", start);
    const pieceOf = (index: number) => `<${index}>`.padEnd(length, "y");
    const responses = await Promise.all(
      twenty.map((index) => call("PUT", at(id, "a?mode=append"), json(pieceOf(index)))),
    );
    expect(responses.map(({ status }) => status)).toEqual(twenty.map(() => 200));
    const text = await (await get(id, "a")).text();
    expect(text.length).toBe(start.length + 20 * length);
    for (const index of twenty) expect(text).toContain(pieceOf(index));
    const info = await (await get(id, "a/info")).json<VariableInfo>();
    expect(info).toMatchObject({ version: 21, count: text.length });
  });

  it("that add to an array, and that merge, lose nothing", async () => {
    const id = newId();
    await Promise.all(
      twenty.flatMap((index) => [
        call("PUT", at(id, "list?mode=append"), json([index])),
        call("PUT", at(id, "object?mode=merge"), json({ deep: { [index]: index } })),
        call("PUT", at(id, "many?mode=new"), json(index)),
      ]),
    );
    const list = await (await get(id, "list")).json<number[]>();
    expect(list.sort((one, other) => one - other)).toEqual(twenty);
    expect(await (await get(id, "object")).json()).toEqual({ deep: { ...twenty } });
    expect((await namesIn(id)).filter((name) => name.startsWith("many_"))).toHaveLength(20);
  });
});
