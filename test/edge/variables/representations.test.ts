import { describe, expect, it } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, json, newId, problemIn } from "../../support/edge.ts";
import { bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

const JSON_TYPE = "application/json";
const at = (id: string, rest = "") => `/conversations/${id}/variables/a${rest}`;

interface Case {
  readonly type: string;
  readonly body: string;
  /** The body for each `Accept` header; the first is the default. */
  readonly forms: Readonly<Record<string, string>>;
}

const cases: Readonly<Record<string, Case>> = {
  "a JSON array": {
    type: JSON_TYPE,
    body: '[{"a":1},"é"]',
    forms: { [JSON_TYPE]: '[{"a":1},"é"]', [NDJSON]: '{"a":1}\n"é"\n' },
  },
  "a JSON object": {
    type: JSON_TYPE,
    body: '{"a":[1]}',
    forms: { [JSON_TYPE]: '{"a":[1]}' },
  },
  records: {
    type: NDJSON,
    body: '{"a":1}\n2\n',
    forms: { [JSON_TYPE]: '[{"a":1},2]', [NDJSON]: '{"a":1}\n2\n' },
  },
  text: {
    type: TEXT,
    body: '\ufeff"é\n\u2028</script>',
    forms: {
      [TEXT]: '\ufeff"é\n\u2028</script>',
      [JSON_TYPE]: JSON.stringify('\ufeff"é\n\u2028</script>'),
    },
  },
  bytes: { type: "image/png", body: "PNG!", forms: { "image/png": "PNG!" } },
};

const utf8 = (text: string) => [...new TextEncoder().encode(text)];

describe.each(Object.entries(cases))("%s", (_, { type, body, forms }) => {
  const names = Object.keys(forms);

  async function saved(): Promise<{ id: string; etags: ReadonlyMap<string, string> }> {
    const id = newId();
    const { headers } = await putAs(id, "a", { body, type });
    const etags = new Map<string, string>();
    for (const [accept, form] of Object.entries(forms)) {
      const response = await getWith(id, "a", { accept });
      expect(response.headers.get("content-type")).toBe(
        accept === TEXT ? "text/plain; charset=utf-8" : accept,
      );
      expect(response.headers.get("vary")).toBe("accept");
      expect(await bytesOf(response)).toEqual(utf8(form));
      etags.set(accept, response.headers.get("etag") ?? "");
    }
    const plain = await get(id, "a");
    expect(plain.headers.get("etag")).toBe(etags.get(names[0] ?? ""));
    expect(plain.headers.get("etag")).toBe(headers.get("etag"));
    expect(await bytesOf(plain)).toEqual(utf8(forms[names[0] ?? ""] ?? ""));
    return { id, etags };
  }

  it("has a different strong ETag for each representation", async () => {
    const { etags } = await saved();
    for (const etag of etags.values()) expect(etag).toMatch(/^"[^"]+"$/);
    expect(new Set(etags.values()).size).toBe(names.length);
  });

  it("matches If-None-Match and If-Match only by the ETag of the same representation", async () => {
    const { id, etags } = await saved();
    for (const accept of names) {
      for (const [known, etag] of etags) {
        const isSame = known === accept;
        for (const listed of [etag, `W/${etag}`, `"x", ${etag}`]) {
          const cached = await getWith(id, "a", { accept, "if-none-match": listed });
          expect([accept, known, cached.status]).toEqual([accept, known, isSame ? 304 : 200]);
          expect(cached.headers.get("etag")).toBe(etags.get(accept));
          expect(cached.headers.get("cache-control")).toBe("private, no-cache");
          await cached.arrayBuffer();
        }
        const expected = await getWith(id, "a", { accept, "if-match": etag });
        expect(expected.status).toBe(isSame ? 200 : 412);
        await expected.arrayBuffer();
        const weak = await getWith(id, "a", { accept, "if-match": `W/${etag}` });
        await problemIn(weak, "precondition_failed");
      }
    }
  });
});

describe("a text as JSON", () => {
  it.each([
    ["empty", ""],
    ["cut anywhere into parts", `a${'\u0001"\\é€😀\n'.repeat(160_000)}`],
  ])("is a JSON string of it: %s", async (_, text) => {
    const id = newId();
    await putAs(id, "a", { body: text, type: TEXT });
    const response = await getWith(id, "a", { accept: JSON_TYPE });
    expect(await response.json()).toBe(text);
  });
});

describe("metadata", () => {
  const patch = (id: string, changes: object, etag: string) =>
    call("PATCH", at(id), json(changes, { "if-match": etag }));
  const etagIn = ({ headers }: Response) => headers.get("etag") ?? "";

  it("have their own version: of two changes to one version, one wins", async () => {
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
});

describe("a content type", () => {
  it.each([
    "image/png; charset=x, text/html",
    "application/json, text/html",
    "text/plain; x, text/html",
    "png",
    `image/png; x=${"x".repeat(300)}`,
  ])("%s is refused", async (type) => {
    await problemIn(await putAs(newId(), "a", { body: "1", type }), "unsupported_media_type");
  });
});
