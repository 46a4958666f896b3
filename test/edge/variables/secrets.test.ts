import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { call, get, json, namesIn, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { leaksIn, SECRET, watchConsole } from "../../support/leaks.ts";
import { getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

afterEach(() => vi.restoreAllMocks());

const RECORD = { user: "Ada", token: SECRET, list: [SECRET, { [SECRET]: 1 }] };

const kinds: Readonly<Record<string, { readonly body: BodyInit; readonly type: string }>> = {
  JSON: { body: JSON.stringify(RECORD), type: "application/json" },
  "a JSON array": { body: JSON.stringify([RECORD, SECRET]), type: "application/json" },
  text: { body: `The key is ${SECRET}.`, type: TEXT },
  records: { body: `${JSON.stringify(RECORD)}\n${JSON.stringify(SECRET)}\n`, type: NDJSON },
  bytes: { body: new TextEncoder().encode(SECRET), type: "image/png" },
  "text in chunks": { body: `${SECRET} `.repeat(5_000), type: TEXT },
  "records in the bucket": {
    body: `${JSON.stringify(RECORD)}\n`.repeat(90_000),
    type: NDJSON,
  },
};

async function textIn(response: Response | Promise<Response>): Promise<string> {
  const { status, headers, body } = await response;
  return `${status} ${JSON.stringify([...headers])} ${await new Response(body).text()}`;
}

/** Returns everything that a client can read about the conversation. */
async function everything(id: string): Promise<string> {
  const C = `/conversations/${id}`;
  const gets = ["", "/variables", "/variables?last=5", "/messages", "/messages?form=reference"];
  const told = await Promise.all(
    [...gets, "/events"].map((path) => textIn(call("GET", `${C}${path}`))),
  );
  const markdown = { headers: { accept: "text/markdown" } };
  told.push(await textIn(call("GET", `${C}/variables`, markdown)));
  for (const name of await namesIn(id)) {
    told.push(name, await textIn(get(id, name)), await textIn(get(id, `${name}/info`)));
  }
  return told.join("\n");
}

function interpolate(id: string, text: string, syntax = "mustache"): Promise<Response> {
  return call("POST", `/conversations/${id}/interpolate`, json({ text, syntax }));
}

describe("a secret over HTTP", () => {
  it.each(Object.entries(kinds))("of %s can be written, but never read", async (_, sent) => {
    const id = newId();
    const said = watchConsole();
    const created = await putAs(id, "s?visibility=secret", sent);
    expect(created.status).toBe(201);
    const heard = [await textIn(created)];
    await evictDurableObject(objectOf(id));
    const ways: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ["s", {}],
      ["s?path=.token", {}],
      ["s?path=[0]", {}],
      ["s?path=[*].token", {}],
      ["s?path=.none", {}],
      ["s?path=[0:5]", {}],
      ["s?offset=1&limit=5", {}],
      ["s?offset=0", {}],
      ["s", { range: "bytes=0-9" }],
      ["s", { range: "bytes=9999999999-" }],
      ["s", { accept: NDJSON }],
      ["s", { accept: "text/plain" }],
      ["s", { "if-none-match": "*" }],
      ["s", { "if-none-match": created.headers.get("etag") ?? "" }],
    ];
    for (const [at, headers] of ways) {
      const response = await getWith(id, at, headers);
      expect(response.headers.get("etag")).toBeNull();
      heard.push(JSON.stringify(await problemIn(response, "variable_secret")));
    }
    expect((await call("HEAD", `/conversations/${id}/variables/s`)).status).toBe(403);
    heard.push(await everything(id), said());
    expect(leaksIn(heard.join("\n"))).toEqual([]);
  });

  it.each([
    ["mustache", "{{s}} {{s.token}} {{s.none}} {{s.list[0]}} {{s[*]}}", 5],
    ["dollar", "$s $s.token $s.none `$s.list[0]` https://a.example/$s.token", 5],
    ["dagger", "†s †s.token", 2],
  ])("prints a placeholder where it is referred to: %s", async (syntax, text, count) => {
    const id = newId();
    await put(id, "s?visibility=secret", RECORD);
    const answer = await (await interpolate(id, text, syntax)).text();
    expect(leaksIn(answer)).toEqual([]);
    expect(answer.split("[secret: s]")).toHaveLength(count + 1);
    expect(answer).not.toMatch(/user|list\b.*list/);
  });

  it.each<readonly [string, string, unknown]>([
    ["an append", "s?mode=append", ["more"]],
    ["an append with visibility model", "s?mode=append&visibility=model", ["more"]],
    ["an append with visibility sealed", "s?mode=append&visibility=sealed", ["more"]],
    ["a replacement", "s", ["other", SECRET]],
    ["a merge", "o?mode=merge", { a: { c: 1 } }],
    ["a merge with visibility model", "o?mode=merge&visibility=model", { a: { c: 1 } }],
    ["a replacement of another type", "s", SECRET],
  ])("stays secret after %s", async (_, at, value) => {
    const id = newId();
    await put(id, "s?visibility=secret", [SECRET]);
    await put(id, "o?visibility=secret", { a: { b: SECRET } });
    const info = await call("PUT", `/conversations/${id}/variables/${at}`, json(value));
    expect(await info.clone().json()).toMatchObject({ visibility: "secret", preview: "" });
    const name = at.slice(0, 1);
    const patch = json({ description: "d", pinned: true });
    const patched = await call("PATCH", `/conversations/${id}/variables/${name}`, patch);
    expect(await patched.clone().json()).toMatchObject({ visibility: "secret", preview: "" });
    await problemIn(await get(id, name), "variable_secret");
    const heard = [await textIn(info), await textIn(patched), await everything(id)];
    expect(leaksIn(heard.join("\n"))).toEqual([]);
  });

  it("is not quoted when a write is refused", async () => {
    const id = newId();
    const said = watchConsole();
    await put(id, "s?visibility=secret", [SECRET]);
    const broken = [
      putAs(id, "s?visibility=secret", { body: `{"a": "${SECRET}`, type: "application/json" }),
      putAs(id, "s", { body: `{"token": ${SECRET}}`, type: "application/json" }),
      putAs(id, "n?visibility=secret", { body: `["x"]\n${SECRET}\n`, type: NDJSON }),
      putAs(id, "s?mode=append", { body: `${SECRET}`, type: "application/json" }),
      call("PUT", `/conversations/${id}/variables/s?mode=merge`, json({ [SECRET]: SECRET })),
    ];
    const heard = await Promise.all(broken.map((response) => textIn(response)));
    for (const text of heard) expect(text).toMatch(/^4\d\d /);
    expect(leaksIn([...heard, said()].join("\n"))).toEqual([]);
  });
});

describe("a sealed value over HTTP", () => {
  it("can be read by the caller, and is never opened by a write", async () => {
    const id = newId();
    const info = await put(id, "s?visibility=sealed", [SECRET]);
    expect(info).toMatchObject({ visibility: "sealed", shape: "string[]" });
    expect(await (await get(id, "s?path=[0]")).json()).toBe(SECRET);
    for (const [at, value] of [
      ["s", [1]],
      ["s?mode=append", [2]],
      ["s?mode=append&visibility=model", [3]],
    ] as const) {
      expect(await put(id, at, value)).toMatchObject({ visibility: "sealed" });
    }
    expect(await put(id, "s?mode=append&visibility=secret", 4)).toMatchObject({
      visibility: "secret",
      preview: "",
    });
    await problemIn(await get(id, "s"), "variable_secret");
    expect(await put(id, "s?visibility=model", 5)).toMatchObject({ visibility: "model" });
    expect(await (await get(id, "s")).text()).toBe("5");
  });
});
