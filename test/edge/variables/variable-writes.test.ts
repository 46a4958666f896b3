import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { call, get, json, newId, objectOf, problemIn } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";

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

  it("accepts the same as PUT, as a stream and with its limits", slow, async () => {
    const id = newId();
    // More than a message may contain.
    const rows = "{}\n".repeat(3_000_000);
    const records = { body: rows, headers: { "content-type": "application/x-ndjson" } };
    expect(await (await post(id, records)).json()).toMatchObject({ count: 3_000_000 });
    const secret = json("s3cr3t");
    const { name } = await (await post(id, secret, "?visibility=secret")).json<{ name: string }>();
    await problemIn(await get(id, name), "variable_secret");
    await problemIn(await post(id, { body: "{", headers: json(1).headers ?? {} }), "bad_json");
    await problemIn(await post(id, json(1), "?visibility=none"), "bad_request");
  });

  it("creates no conversation if it is rejected, and no variable if it breaks off", async () => {
    const id = newId();
    await problemIn(await post(id, { body: "{", headers: json(1).headers ?? {} }), "bad_json");
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    await put(id, "", 1);
    const broken = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("half"));
        controller.error(new Error("The client has gone."));
      },
    });
    const init = { body: broken, headers: { "content-type": "text/plain" } };
    await post(id, init).catch(() => undefined);
    const listed = await call("GET", `/conversations/${id}/variables`);
    expect(await listed.json()).toMatchObject({ variables: [{ name: "v" }] });
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

  const ndjson = "application/x-ndjson";
  const types = { ndjson, csv: "text/csv", json: "application/json" };
  type Kind = keyof typeof types;
  const long = Array.from(
    { length: 9_000 },
    (_, n) => `{"id":${n},"t":"${"x".repeat(20)}"}\n`,
  ).join("");

  const longElements = long.trim().replaceAll("\n", ",");

  it.each<[first: [Kind, string], second: [Kind, string], after: string]>([
    [["ndjson", '{"id":1}\n'], ["ndjson", '{"id":2}'], '[{"id":1},{"id":2}]'],
    [
      ["ndjson", '{"id":1234567890123456789}'],
      ["ndjson", '{"id":2e0}'],
      '[{"id":1234567890123456789},{"id":2e0}]',
    ],
    [["ndjson", '{"id":1}'], ["csv", "id,t\n2,a\n"], '[{"id":1},{"id":2,"t":"a"}]'],
    [["ndjson", '{"id":1}'], ["ndjson", '\ufeff{"id":2}\n\n'], '[{"id":1},{"id":2}]'],
    [["ndjson", long], ["ndjson", '{"id":2}'], `[${longElements},{"id":2}]`],
    [["ndjson", '{"id":1}'], ["ndjson", long], `[{"id":1},${longElements}]`],
    [["json", '[{"id":1}]'], ["ndjson", '{"id":2}\n{"id":3}'], '[{"id":1},{"id":2},{"id":3}]'],
    [["json", "[]"], ["csv", "id\n1\n"], '[{"id":1}]'],
    [["json", '[{"id":0}]'], ["ndjson", long], `[{"id":0},${longElements}]`],
    [["ndjson", '{"id":1}'], ["json", '{"id":2}'], '[{"id":1},{"id":2}]'],
  ])("appends records to records (%#)", async ([first, before], [second, added], after) => {
    const id = newId();
    const append = async (kind: Kind, body: string) => {
      const init = { body, headers: { "content-type": types[kind] } };
      return (await call("PUT", `/conversations/${id}/variables/v?mode=append`, init)).status;
    };
    expect([await append(first, before), await append(second, added)]).toEqual([201, 200]);
    const text = await (await get(id, "v")).text();
    expect(text.slice(-60)).toBe(after.slice(-60));
    expect(text === after).toBe(true);
    const { count } = await (await get(id, "v/info")).json<{ count: number }>();
    expect(count).toBe(JSON.parse(after).length);
    expect((await get(id, "v?path=[-1].id")).status).toBe(200);
  });

  it("appends no bytes, and no records to a text", async () => {
    const id = newId();
    await put(id, "", "text");
    const append = (body: string, type: string) =>
      call("PUT", `/conversations/${id}/variables/v?mode=append`, {
        body,
        headers: { "content-type": type },
      });
    await problemIn(await append("a", "image/png"), "bad_value");
    await problemIn(await append('{"id":1}', ndjson), "bad_value");
    expect(await (await get(id, "v")).text()).toBe("text");
  });

  it("writes under a new name each time, and returns its location", async () => {
    const id = newId();
    for (const name of ["v_000", "v_001"]) {
      const response = await put(id, "?mode=new", name);
      expect(response.status).toBe(201);
      expect(response.headers.get("location")).toBe(`/conversations/${id}/variables/${name}`);
      expect(await response.json()).toMatchObject({ name, version: 1 });
    }
    expect((await get(id, "v")).status).toBe(404);
  });

  it("reuses no new name, even after a delete", async () => {
    const id = newId();
    for (const name of ["v_000", "v_001", "v_002"]) {
      expect(await (await put(id, "?mode=new", 1)).json()).toMatchObject({ name, version: 1 });
      expect((await call("DELETE", `/conversations/${id}/variables/${name}`)).status).toBe(204);
    }
  });

  it("keeps pin, ttl and description in every mode but new, unless the write gives others", async () => {
    const id = newId();
    await put(id, "?ttl=3600&pin=true&description=kept", [1]);
    const before = await (await get(id, "v/info")).json<Record<string, unknown>>();
    const { expiresAt } = before;
    const extended = await (await put(id, "?mode=append", [2])).json();
    expect(extended).toMatchObject({ version: 2, count: 2, pinned: true, description: "kept" });
    expect(extended).toMatchObject({ expiresAt });
    const said = await (await put(id, "?mode=append&pin=false&description=new", 3)).json();
    expect(said).toMatchObject({ version: 3, count: 3, pinned: false, description: "new" });
    const replaced = await (await put(id, "", [4])).json();
    expect(replaced).toMatchObject({ version: 4, pinned: false, description: "new", expiresAt });
    const given = await (await put(id, "?pin=true&description=&ttl=7200", [5])).json();
    expect(given).toMatchObject({ version: 5, pinned: true, description: "" });
    expect(given).not.toMatchObject({ expiresAt });
    const other = await (await put(id, "?mode=new", [6])).json();
    expect(other).toMatchObject({ name: "v_000", pinned: false });
    expect(other).not.toHaveProperty("description");
    expect(other).not.toHaveProperty("expiresAt");
  });

  it("keeps a pin that was set during an upload", async () => {
    const id = newId();
    await put(id, "", "before");
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const headers = { "content-type": "image/png" };
    const path = `/conversations/${id}/variables/v`;
    const putting = call("PUT", path, { headers, body: readable });
    const writer = writable.getWriter();
    await writer.write(new Uint8Array(100_000));
    await call("PATCH", path, json({ pinned: true }));
    await writer.close();
    expect(await (await putting).json()).toMatchObject({ version: 2, pinned: true });
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

  it("arms the alarm for a new time to live", async () => {
    const id = newId();
    await put(id, "", 1);
    const info = await (await patch(id, { ttl: 3600 })).json();
    const due = await runInDurableObject(objectOf(id), (_, state) => state.storage.getAlarm());
    expect(info).toMatchObject({ expiresAt: new Date(due ?? 0).toISOString() });
  });

  it.each([{}, { ttl: 0 }, { ttl: "1" }, { pinned: 1 }, { value: 2 }, { version: 7 }, [], 5])(
    "refuses %j",
    async (changes) => {
      const id = newId();
      await put(id, "", 1);
      await problemIn(await patch(id, changes), "bad_request");
    },
  );

  it("reports that a missing variable was not found", async () => {
    await problemIn(await patch(newId(), { pinned: true }), "variable_not_found");
  });
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

  it("shows the last few, or the named ones", async () => {
    const id = newId();
    for (const name of ["a", "b", "c"]) await put(id, name, 1);
    const last = await (await markdown(id, "?last=2")).text();
    expect(last).toMatch(/^# Last 2 Variables Summary\n\n## b\n[^]*## c\n/);
    const named = await (await markdown(id, "?names=a,c")).text();
    expect(named.match(/^## .*$/gm)).toEqual(["## a", "## c"]);
    expect(await (await markdown(newId())).text()).toBe("# Variables Summary\n\nNo variables.\n");
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
        { reference: "{{nobody}}", code: "variable_not_found" },
        { reference: "{{v.nope}}", code: "path_not_found" },
      ],
    });
  });

  it("supports another syntax on request", async () => {
    const id = newId();
    await put(id, "", 5);
    const body = { text: "$v †v {{v}}", syntax: "dollar" };
    expect(await (await interpolate(id, body)).json()).toEqual({
      text: "5 †v {{v}}",
      unresolved: [],
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
