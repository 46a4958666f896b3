import { describe, expect, it } from "vitest";
import { Expander, type ExpandOptions } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";

const lookup = lookupIn({ v: "VALUE" });

/** Expands a text that is written in these pieces. */
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

/** Cuts of a text: whole, and character by character. */
const cuts = (text: string) => [[text], text.split("")];
const replaced = (text: string) => text.replaceAll("$v", "VALUE").replaceAll("${v}", "VALUE");

describe("Markdown code", () => {
  it.each([
    // The opening line of a fence belongs to the code.
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
    // Different marks, too few marks, and marks beside other text do not end a fence.
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
    // Inline code ends with as many backticks as it began with.
    "`$v`",
    "a `b $v`",
    "a `b~$v`",
    "`a``$v`",
    "``a`$v``",
    "``a ` $v``",
    "a ```b $v```",
    "`a\t$v`",
    "` ``` $v `",
  ])("contains the reference in %j", (text) => {
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
    // Inline code ends at the end of its line.
    "`a\n$v",
    "`a\r$v",
    "x`\n$v",
    "``\n$v",
    "a ``` b\n$v",
    // One or two tildes, or three in the middle of a line, are not code.
    "~$v",
    "~~$v",
    "~~ $v",
    "a ~~~$v",
    "a ~~~\n$v",
    "~ ~~~\n$v",
    // A fence ends with at least as many marks.
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
  ])("has ended before the reference in %j", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(replaced(text));
  });
});

describe("a URL or tag", () => {
  it.each([
    // A destination: with parentheses, with escaped ones, or after a line break.
    "![x](a(b)$v)",
    "[x](a(b(c)d)$v)",
    "[x](a\\)$v)",
    "[x](a\n$v)",
    "[x](a\r\n$v)",
    // A destination in angle brackets may contain anything.
    "[x](<a)$v>)",
    "[x]( <a)$v>)",
    "[x](\t<a)$v>)",
    "[x](<a\\>)$v>)",
    "[x](<a>b)$v>)",
    "[x](\n> <a)$v>)",
    "[x](<a ](\n<b)$v>)",
    // A definition: after block marks, with any escaped characters in its label.
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
    // A tag with any first letter.
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
    // A URL that is recognized by its scheme, `www.` or two slashes.
    ..."http https ws wss ftp mailto data javascript tel sms file HTTPS hTTp"
      .split(" ")
      .map((scheme) => `x ${scheme}:$v`),
    "WWW.a.bc/$v",
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
    // A URL that is recognized by a name with a dot and the character after a host.
    "a.bc/$v",
    "a.bc?$v",
    "a.bc#$v",
    "a.bc:$v",
    "a.рф/$v",
    "a.xn--p1ai/$v",
    // A URL with entities, as renderers decode them.
    "&sol;$v",
    "http&COLON;$v",
    "&#47;$v",
    "&#x2F;$v",
    "&#x0002F;$v",
    // An e-mail address, and the name of a footnote.
    "a@$v",
    "a+@$v",
    "<!@$v",
    "<=@$v",
    "[^$v",
    "${v}@a",
    "a $v@a",
  ])("contains the reference in %j", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(text);
    for (const pieces of cuts(text)) {
      expect(expanded(pieces, { inUrls: true })).toBe(replaced(text));
    }
  });

  it.each([
    // Words and marks that are not URLs.
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
    // After the end of a URL or tag.
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
    // Brackets that are not a definition.
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
    // After a destination, or after the paragraph in which it began.
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
  ])("does not contain the reference in %j", (text) => {
    for (const pieces of cuts(text)) expect(expanded(pieces)).toBe(replaced(text));
  });
});
