import { describe, expect, it } from "vitest";
import { inertText } from "../../src/reference/inert-text.ts";
import { renderers } from "../support/markdown-renderers.ts";

describe("a composed or sealed value", () => {
  it.each([
    "Dr. Ada Lovelace (born 1815), 12:30, 50 %",
    "1,234.50",
    "[1,2,3]",
    '{"name":"Ada","tags":["a","b"]}',
    "and/or",
  ])("without a URL prints as it is: %s", (text) => {
    expect(inertText(text)).toBe(text);
  });

  it.each([
    ["https://a.example", "https\\:\\/\u2060/a\\.example"],
    ["HTTPS:x", "HTTPS\\:x"],
    ["www.1", "www\\.\u20601"],
    ["WWW.a", "WWW\\.\u2060a"],
    ["1.5 a.b a. b", "1.5 a\\.b a. b"],
    ["<b>", "\\<\u2060b>"],
    ["a@b=c&d", "a\\@b\\=c\\&d"],
    ["a\\b\\|c", "a\\\\b\\|c"],
    ["/\\", "\\/\u2060\\\\"],
    ["[a](b) [a] : [a] b", "[a\\](b) [a\\] : [a] b"],
    ["(a", "\\(a"],
    [":a", "\\:a"],
    [".5", "\\.5"],
    ["/a/b", "\\/\u2060a/b"],
    ["9:30", "9:30"],
  ])("escapes what opens a URL or a tag: %s", (text, escaped) => {
    expect(inertText(text)).toBe(escaped);
  });

  it("looks the same to a reader", () => {
    const render = renderers.marked ?? String;
    const html = render(inertText("See https://example.com/a?b=c, <b> & www.example.com"));
    const read = html
      .replaceAll("\u2060", "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&");
    expect(read).toBe("<p>See https://example.com/a?b=c, <b> & www.example.com</p>\n");
  });
});
