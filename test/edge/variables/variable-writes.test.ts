import { describe, expect, it } from "vitest";
import { call, get, json, newId, problemIn } from "../../support/edge.ts";

/** `place` is a query, optionally with another name than `v` before it. */
const put = (id: string, place: string, value: unknown) => {
  const at = place === "" || place.startsWith("?") ? `v${place}` : place;
  return call("PUT", `/conversations/${id}/variables/${at}`, json(value));
};
const valueOf = async (id: string, name = "v") => (await get(id, name)).json();

describe("POST without a name", () => {
  const post = (id: string, init: RequestInit, query = "") =>
    call("POST", `/conversations/${id}/variables${query}`, init);

  it("saves each value under the next automatic name, and returns its location", async () => {
    const id = newId();
    await put(id, "variable_2", ["taken"]);
    for (const [value, name] of [
      [[1], "variable_3"],
      [[1], "variable_4"],
    ] as const) {
      const response = await post(id, json(value), "?ttl=3600&description=posted");
      expect(response.status).toBe(201);
      expect(response.headers.get("location")).toBe(`/conversations/${id}/variables/${name}`);
      const info = await response.json<Record<string, unknown>>();
      expect(info).toMatchObject({ name, version: 1, type: "array", description: "posted" });
      expect(info).toMatchObject({ sources: ["caller"], expiresAt: expect.any(String) });
      expect(response.headers.get("etag")).toBe((await get(id, name)).headers.get("etag"));
      expect(await valueOf(id, name)).toEqual(value);
    }
    expect(await valueOf(id, "variable_2")).toEqual(["taken"]);
  });
});

describe("PUT with a mode", () => {
  it("appends to an array and merges into an object", async () => {
    const id = newId();
    expect((await put(id, "?mode=append", [1])).status).toBe(201);
    expect((await put(id, "?mode=append", 2)).status).toBe(200);
    expect(await valueOf(id)).toEqual([1, 2]);
    await put(id, "o", { a: { b: 1 } });
    await put(id, "o?mode=merge", { a: { c: 2 } });
    expect(await valueOf(id, "o")).toEqual({ a: { b: 1, c: 2 } });
  });

  it("refuses a value that does not fit the existing one, which stays", async () => {
    const id = newId();
    await put(id, "", { a: 1 });
    await problemIn(await put(id, "?mode=append", "text"), "bad_value");
    expect(await valueOf(id)).toEqual({ a: 1 });
    await problemIn(await put(id, "?mode=overwrite", 1), "bad_request");
  });
});

describe("PATCH", () => {
  const patch = (id: string, changes: unknown, name = "v") =>
    call("PATCH", `/conversations/${id}/variables/${name}`, json(changes));

  it("changes metadata, and leaves value, version and order", async () => {
    const id = newId();
    await put(id, "?ttl=100", [1]);
    await put(id, "later", 2);
    const response = await patch(id, { ttl: null, pinned: true, description: "kept" });
    expect(response.status).toBe(200);
    const info = await response.json();
    expect(info).toMatchObject({ name: "v", version: 1, pinned: true, description: "kept" });
    expect(info).not.toHaveProperty("expiresAt");
    expect(await (await get(id, "v/info")).json()).toEqual(info);
    expect(await valueOf(id)).toEqual([1]);
  });

  it.each([{}, { ttl: 0 }, { ttl: "1" }, { pinned: 1 }, { value: 2 }, { version: 7 }, [], 5])(
    "refuses %j",
    async (changes) => {
      const id = newId();
      await put(id, "", 1);
      await problemIn(await patch(id, changes), "bad_request");
    },
  );
});

describe("GET variables", () => {
  const markdown = (id: string, query = "") =>
    call("GET", `/conversations/${id}/variables${query}`, { headers: { accept: "text/markdown" } });

  it("shows type, items, description, time and preview of each as Markdown", async () => {
    const id = newId();
    await put(id, "data_filtered?description=Customers%20in%20CA", [{ id: 0, name: "Ada" }]);
    await put(id, "statistics", { mean: 156.4 });
    const response = await markdown(id);
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    const text = await response.text();
    expect(text).toMatch(/^# Variables Summary\n\n## data_filtered\n/);
    expect(text).toContain(
      "- Type: array\n- Items: 1\n- Description: Customers in CA\n- Created: 20",
    );
    expect(text).toContain('- Value Preview: [{"id":0,"name":"Ada"}]');
    expect(text).toContain("## statistics\n\n- Type: object\n- Items: 1\n");
  });

  it("lists the names that no variable has, and only those", async () => {
    const id = newId();
    for (const name of ["a", "b"]) await put(id, name, 1);
    const missingIn = async (query: string) => {
      const response = await call("GET", `/conversations/${id}/variables?${query}`);
      return (await response.json<{ missing?: unknown }>()).missing;
    };
    expect(await missingIn("names=a,nope,b,nope,Not%20a%20name")).toEqual(["nope", "Not a name"]);
    expect(await missingIn("names=a,b&last=1")).toEqual([]);
    expect(await missingIn("last=1")).toBeUndefined();
  });
});

describe("POST interpolate", () => {
  const interpolate = (id: string, body: unknown) =>
    call("POST", `/conversations/${id}/interpolate`, json(body));

  it("resolves mustaches, also in code and URLs, and lists unresolved ones", async () => {
    const id = newId();
    await put(id, "", { user: { name: "Ada" }, list: [1, { a: "b" }] });
    const text =
      "Hi {{v.user.name}}, {{v.list}} `{{v.list[1].a}}` https://a.example/{{v.list[0]}} {{nobody}} {{v.nope}}";
    const answer = await (await interpolate(id, { text })).json();
    expect(answer).toMatchObject({
      text: 'Hi Ada, [1,{"a":"b"}] `b` https://a.example/1 {{nobody}} {{v.nope}}',
      unresolved: [
        { reference: "{{nobody}}", code: "variable_unknown" },
        { reference: "{{v.nope}}", code: "path_not_found" },
      ],
    });
  });

  it.each([{}, { text: 1 }, { text: "a", syntax: "percent" }])("refuses %j", async (body) => {
    await problemIn(await interpolate(newId(), body), "bad_request");
  });
});

describe("the variable named input", () => {
  it("comes with a message, and cannot be changed afterwards", async () => {
    const id = newId();
    const at = `/conversations/${id}/variables/input`;
    const value = { body: "1", headers: { "content-type": "application/json" } };
    await problemIn(await call("PUT", at, value), "bad_name");
    await problemIn(await call("DELETE", at), "bad_name");
    const init = { body: '{"pinned":true}', headers: { "content-type": "application/json" } };
    await problemIn(await call("PATCH", at, init), "bad_name");
  });
});
