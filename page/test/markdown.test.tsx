import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown, marked, withoutMarks } from "../src/markdown/markdown.tsx";

/** Renders the text as HTML, without elements that only group text. */
function htmlOf(text: string): string {
  const html = renderToStaticMarkup(
    <Markdown
      text={text}
      renderMarked={(index, shown) => <mark id={String(index)}>{shown}</mark>}
    />,
  );
  return html.replaceAll(/<\/?span[^>]*>/g, "").replace(/^<div [^>]*>|<\/div>$/g, "");
}

describe("Markdown", () => {
  it("becomes elements", () => {
    expect(htmlOf("# A\n\nb **c** `d`\n\n- e\n- f")).toBe(
      "<h2>A</h2><p>b <strong>c</strong> <code>d</code></p><ul><li>e</li><li>f</li></ul>",
    );
    // commonmark/commonmark.js#10
    expect(htmlOf("0. a\n1. b")).toBe('<ol start="0"><li>a</li><li>b</li></ol>');
    // The box of a task whose list has blank lines.
    expect(htmlOf("- [x] a\n\n- b")).toMatch(/^<ul><li[^>]*><input[^>]*><p>a<\/p>/);
  });

  it("aligns numeric columns to the right", () => {
    const html = htmlOf("| month | total |\n| --- | --- |\n| May | 1,204.5 |");
    expect(html).toContain('<td style="text-align:left">May</td>');
    expect(html).toContain('<td style="text-align:right">1,204.5</td>');
  });

  it.each([
    [">", 99],
    [">", 150],
    [">", 5_000],
    ["> - ", 200],
  ])(
    "shows the text in %j %d times (markedjs/marked#1462, MCPJam/inspector#4381)",
    (level, times) => {
      const html = htmlOf(`${level.repeat(times)}the end`);
      expect(html).toContain("the end");
      expect(html.split("<blockquote>").length).toBeLessThanOrEqual(101);
    },
  );

  it("shows HTML as text", () => {
    expect(htmlOf('<img src=x onerror="alert(1)">')).not.toContain("<img");
    expect(htmlOf('a <b title="&lt;">')).toBe("<p>a &lt;b title=&quot;&amp;lt;&quot;&gt;</p>");
    expect(htmlOf("a <script>alert(1)</script> b")).toBe(
      "<p>a &lt;script&gt;alert(1)&lt;/script&gt; b</p>",
    );
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x", "/conversations", "#/c/x"])(
    "makes no link to %s",
    (address) => {
      expect(htmlOf(`[a](${address})`)).toBe("<p>a</p>");
      expect(htmlOf(`![a](${address})`)).toBe("<p>a</p>");
    },
  );

  it("shows images as links and never loads them", () => {
    expect(htmlOf("![cat](https://evil.example/?q=1)")).toBe(
      '<p><a href="https://evil.example/?q=1" target="_blank" rel="noopener noreferrer nofollow">cat</a></p>',
    );
  });

  it("keeps marks in place inside formatted text", () => {
    expect(htmlOf(`It is **${marked(0, "9")}** in ${marked(1, "Oslo")}.`)).toBe(
      '<p>It is <strong><mark id="0">9</mark></strong> in <mark id="1">Oslo</mark>.</p>',
    );
    expect(htmlOf(`a ${marked(0, "*b* c")} d`)).toBe(
      '<p>a <em><mark id="0">b</mark></em><mark id="0"> c</mark> d</p>',
    );
  });

  it("ignores forged marks", () => {
    const forged = "\uE000\uE100mine\uE001\uE100";
    expect(withoutMarks(forged)).toBe("\uE100mine\uE100");
    expect(withoutMarks("\uE000A, \uE001B, \uE002")).toBe("A, B, \uE002");
    expect(htmlOf(`a ${marked(0, `9${forged}\uE001`)} b`)).toBe(
      '<p>a <mark id="0">9\uE100mine\uE100</mark> b</p>',
    );
    for (const [open, close] of [
      ["&#xE000;", "&#xE001;"],
      ["&#057344;", "&#57345;"],
    ]) {
      const html = htmlOf(`${marked(0, "9")} ${open}\uE101mine${close}\uE101 ![${open}\uE101](x)`);
      expect(html.match(/<mark|[\uE000\uE001]/g)).toEqual(["<mark"]);
      expect(html).toContain("mine");
    }
  });

  it.each([
    ["[see ⟨](https://a.example/⟩) my words", "an address"],
    ['[see ⟨](https://a.example/ "⟩") my words', "a title"],
    ["[see ⟨](<https://a.example/⟩ b ⟨>) too⟩ my words", "an address with the next one"],
    ["[a]: https://a.example/⟨\n\n⟩ my words", "a definition"],
  ])("marks nothing in %j, where the end of a mark is inside %s", (text) => {
    let ends = 0;
    const source = text.replaceAll(/[⟨⟩]/g, (end) => {
      const [open, close] = marked(ends >> 1, "\n").split("\n");
      ends++;
      return (end === "⟨" ? open : close) ?? "";
    });
    const html = htmlOf(source);
    expect(html).toContain("my words");
    expect(html).not.toMatch(/<mark|[\uE000\uE001]/);
  });
});
