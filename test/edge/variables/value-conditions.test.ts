import { describe, expect, it } from "vitest";
import { call, get, json, newId, problemIn, put } from "../../support/edge.ts";
import { anyBytes, bytesOf, getWith, putAs } from "../../support/values.ts";

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
});
