import { describe, expect, it } from "vitest";
import { Expander, type ExpandOptions } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";

const lookup = lookupIn({ v: "VALUE" });

/** What comes out of a text that is written in these pieces. */
function expanded(pieces: readonly string[], options: ExpandOptions = {}): string {
  const expander = new Expander(lookup, options);
  let text = "";
  const emit = (piece: string) => {
    text += piece;
  };
  for (const piece of pieces) void expander.write(piece, emit);
  void expander.flush(emit);
  return text;
}

/** Whole, and character by character. */
const cuts = (text: string) => [[text], text.split("")];
const replaced = (text: string) => text.replaceAll("$v", "VALUE").replaceAll("${v}", "VALUE");

describe("Markdown code", () => {
  it.each([
    // A fence begins, and its own line is in it.
    "```$v",
    "```js $v",
    "~~~$v",
    "~~~\n$v",
    "```\n$v",
    "```\r$v",
    "  ~~~\n$v",
    "\t```\n$v",
    "> ```\n$v",
    "a\n```\n$v",
    // Other marks, fewer of them, others on their line, or in the middle of one do not end it.
    "~~~\n```\n$v",
    "```\n~~~\n$v",
    "````\n```\n$v",
    "~~~~\n~~~\n$v",
    "```\n``` x\n$v",
    "```\n``` `\n$v",
    "```\n```\t``\n$v",
    "``\n` ` ```$v",
    "```\na ```\n$v",
    "```\n`\n$v",
    "```\n\n$v",
    // Code in a line, until as many backticks as it began with.
    "`$v`",
    "a `b $v`",
    "a `b~$v`",
    "`a``$v`",
    "``a`$v``",
    "``a ` $v``",
    "a ```b $v```",
    "`a\t$v`",
    "` ``` $v `",
  ])("holds %j", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(text);
    for (const pieces of cuts(text)) {
      expect(expanded(pieces, { inCode: true })).toBe(replaced(text));
    }
  });

  it.each([
    "`a`$v",
    "`a` $v",
    "``a``$v",
    "`` ` ``$v",
    "a ```b```$v",
    "a ```b``` $v",
    "`a` b `c`$v",
    // At the end of its line it ends.
    "`a\n$v",
    "`a\r$v",
    "x`\n$v",
    "``\n$v",
    "a ``` b\n$v",
    // One tilde, two, or three in the middle of a line are none.
    "~$v",
    "~~$v",
    "~~ $v",
    "a ~~~$v",
    "a ~~~\n$v",
    "~ ~~~\n$v",
    // A fence ends with as many marks, or more.
    "```\n```\n$v",
    "```\n````\n$v",
    "~~~\n~~~\n$v",
    "~~~\n~~~~\n$v",
    "~~~a\n~~~\n$v",
    "```\n  ```\n$v",
    "```\n```  \n$v",
    "~~~\n~~~ \t\r\n$v",
    "```\n``` \n```\n``` \n$v",
    "```\n> ```\n$v",
    "```\n```\n`a` $v",
    "```\n```\n\n``` \n```\n$v",
  ])("is over where the value stands in %j", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(replaced(text));
  });
});

describe("what a browser may fetch", () => {
  it.each([
    // A destination, with parentheses in it, escaped ones, over one line break.
    "![x](a(b)$v)",
    "[x](a(b(c)d)$v)",
    "[x](a\\)$v)",
    "[x](a\n$v)",
    "[x](a\r\n$v)",
    // In angle brackets it may hold anything.
    "[x](<a)$v>)",
    "[x]( <a)$v>)",
    "[x](\t<a)$v>)",
    "[x](<a\\>)$v>)",
    "[x](<a>b)$v>)",
    "[x](\n> <a)$v>)",
    "[x](<a ](\n<b)$v>)",
    // A definition: behind marks of blocks, its label with anything that is escaped.
    "[a]: $v",
    "    [a]: $v",
    "> - 1) [a]: $v",
    "| [a]: $v",
    "[]: $v",
    "[a[b]: $v",
    "[a\nb]:\n\n$v",
    "[^1]: [a\n]: $v",
    " [a]: $v",
    "   [a]: $v",
    "x\n[a]: $v",
    "x\r[a]: $v",
    "[a\\]b]: $v",
    "[\\]]: $v",
    // A tag, of any letter.
    "<a $v",
    "<z $v",
    "<Z $v",
    "</p $v",
    "<!a $v",
    "<a\n$v",
    "<a\r\n$v",
    "<? $v",
    "<!--\n\n$v",
    "<a b='>$v",
    '<a b = ">$v',
    "<a/b='>$v",
    '<a b="<c d=">$v">',
    "<pre><a\n\n$v",
    "<style></style> $v",
    "<div>\n<a b='\n\n' $v> $v",
    // A URL, by its scheme, `www.`, or two slashes.
    "x (www.$v",
    "a ///$v",
    "a\n//$v",
    "a//$v",
    "7www.$v",
    "www\\.$v",
    "aaaaaaaaaaaawww.$v",
    "_http:$v",
    "<a\n b='http://c'>$v",
    "http:\f$v",
    'http://a"$v',
    "http://a<$v",
    "http://a>$v",
    "\\<a b='http://c'>$v",
    "<a b=[ c='http://c'>$v",
    // By a name with a dot in it, and what follows a host.
    "a.bc/$v",
    "a.bc?$v",
    "a.bc#$v",
    "a.bc:$v",
    "a.рф/$v",
    "a.xn--p1ai/$v",
    // By entities, as the renderers decode them.
    "&sol;$v",
    "http&COLON;$v",
    "&#47;$v",
    "&#x2F;$v",
    "&#x0002F;$v",
    // An address, and a footnote's name.
    "a@$v",
    "a+@$v",
    "<!@$v",
    "<=@$v",
    "[^$v",
    "${v}@a",
    "a $v@a",
  ])("is %j: the reference stays", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(text);
    for (const pieces of cuts(text)) {
      expect(expanded(pieces, { inUrls: true })).toBe(replaced(text));
    }
  });

  it.each([
    // Words and marks that are no URL.
    "http $v",
    "www $v",
    "tel $v",
    "note:$v",
    "xmailto:$v",
    "a.$v",
    "a/$v",
    "a.b/$v",
    "a.b-$v",
    "a.5c/$v",
    ".bc/$v",
    "a. bc/$v",
    "é /$v",
    "customerdata:$v",
    "&amp;$v",
    "&nbsp;$v",
    "&#47; $v",
    "# &$v",
    "&colon $v",
    "@$v",
    "(@$v",
    "< @$v",
    "[ ^$v",
    "$v @a",
    "/ $v",
    "see /$v",
    "and/or/$v",
    "a\n/$v",
    // Behind its end.
    "http://a\t$v",
    "http://a\n$v",
    "<a b='http://c'>$v",
    '<a b="http://c" d="e">$v',
    "</a>$v",
    "<b>$v",
    '<b c=d"e>$v',
    "<b c=d e='>'>$v",
    "<b c ='>'/>$v",
    "<b\n>$v",
    // Brackets without what makes them a definition.
    "x: $v",
    "x [a]: $v",
    "xa]: $v",
    "[a[: $v",
    "[a] $v",
    "[a]b: $v",
    "[a\n]b[c]: $v",
    "[a\n\nb]: $v",
    "[a]: x\n$v",
    "[a]: x\r$v",
    // Behind a destination, or a paragraph that it began in.
    "[x](a\\\\)$v",
    "[x](a)$v",
    "[x](<a>)$v",
    "[x](a <1)$v",
    "(<1)$v",
    "<1 $v",
    "[x](a\n\n$v",
    "[x](a\r\r$v",
    "[x](a\r\n\r\n$v",
    "<a\n\n$v",
    "<a> $v",
    "a < b $v",
  ])("is not there in %j: the value is", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(replaced(text));
  });
});
