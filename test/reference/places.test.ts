import { expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { expanded } from "../support/streamed.ts";

const lookup = lookupIn({ v: "VALUE" });

const replaced = (text: string) => text.replaceAll("$v", "VALUE").replaceAll("${v}", "VALUE");

/** Where a reference is: in code, in a URL or tag, or in neither, where it resolves. */
type Place = "code" | "URL" | "text";

it.each<[Place, ...string[]]>([
  // The opening line of a fence belongs to the code. Different or fewer marks, or text beside them, do not end it.
  ["code", "```js $v", "~~~$v", "```\r$v", "  ~~~\n$v", "\t```\n$v", "> ```\n$v", "a\n```\n$v"],
  ["code", "~~~\n```\n$v", "```\n~~~\n$v", "````\n```\n$v", "```\n``` x\n$v", "```\n```\t``\n$v"],
  ["text", "```\n```\n$v", "```\n````\n$v", "~~~a\n~~~\n$v", "```\n  ```\n$v", "~~~\n~~~ \t\r\n$v"],
  ["text", "```\n> ```\n$v", "```\n```\n`a` $v", "```\n```\n\n``` \n```\n$v"],
  // Inline code ends with as many backticks as it began with, or at the end of its line.
  ["code", "`$v`", "a `b~$v`", "`a``$v`", "``a`$v``", "a ```b $v```", "`a\t$v`", "` ``` $v `"],
  ["text", "`a`$v", "``a``$v", "`` ` ``$v", "a ```b```$v", "`a` b `c`$v", "`a\n$v", "`a\r$v"],
  // One or two tildes, or three in the middle of a line, are not code.
  ["text", "~$v", "~~ $v", "a ~~~$v", "a ~~~\n$v", "~ ~~~\n$v"],
  // A destination: with parentheses, with escaped ones, after a line break, or in angle brackets.
  ["URL", "[x](a(b(c)d)$v)", "[x](a\\)$v)", "[x](a\r\n$v)", "[x](<a)$v>)", "[x](\t<a)$v>)"],
  ["URL", "[x](<a\\>)$v>)", "[x](<a>b)$v>)", "[x](\n> <a)$v>)", "[x](<a ](\n<b)$v>)"],
  ["text", "[x](a\\\\)$v", "[x](a)$v", "[x](<a>)$v"],
  ["text", "[x](a <1)$v", "[x](a\n\n$v", "[x](a\r\n\r\n$v"],
  // A definition: after block marks, with any escaped characters in its label.
  ["URL", "[a]: $v", "> - 1) [a]: $v", "| [a]: $v"],
  ["URL", "[a[b]: $v", "[a\nb]:\n\n$v", "[^1]: [a\n]: $v"],
  ["URL", "x\r[a]: $v", "[a\\]b]: $v", "[\\]]: $v", "[^$v"],
  ["text", "x: $v", "x [a]: $v", "[a[: $v", "[a] $v", "[a]b: $v", "[a\n]b[c]: $v", "[a\n\nb]: $v"],
  ["text", "[a]: x\n$v", "[ ^$v"],
  // A tag with any first letter.
  ["URL", "<a $v", "<Z $v", "</p $v", "<!a $v", "<a\r\n$v", "<? $v", "<!--\n\n$v", "<a b='>$v"],
  ["URL", '<a b = ">$v', "<a/b='>$v", '<a b="<c d=">$v">', "<pre><a\n\n$v", "<style></style> $v"],
  ["URL", "<div>\n<a b='\n\n' $v> $v", '<b c=d"e>$v'],
  ["text", "</a>$v", "<b c=d e='>'>$v", "<b c ='>'/>$v"],
  ["text", "<b\n>$v", "<1 $v", "(<1)$v"],
  ["text", "<a\n\n$v", "a < b $v", "<a b='http://c'>$v", '<a b="http://c" d="e">$v'],
  // A URL that is recognized by its scheme, `www.` or two slashes.
  [
    "URL",
    ..."http https ws wss ftp mailto data javascript tel sms file hTTp".split(" ").map(atScheme),
  ],
  ["URL"],
  ["URL", "WWW.a.bc/$v", "x (www.$v", "a ///$v", "a\n//$v", "7www.$v", "www\\.$v", "_http:$v"],
  ["URL", "aaaaaaaaaaaawww.$v", "<a\n b='http://c'>$v", "http:\f$v", 'http://a"$v', "http://a>$v"],
  ["URL", "\\<a b='http://c'>$v", "<a b=[ c='http://c'>$v"],
  ["text", "http $v", "www $v", "note:$v", "xmailto:$v", "customerdata:$v", "http://a\t$v"],
  ["text", "http://a\n$v", "/ $v", "see /$v", "and/or/$v", "a\n/$v"],
  // A URL that is recognized by a name with a dot and the character after a host.
  ["URL", "a.bc/$v", "a.bc?$v", "a.bc#$v", "a.bc:$v", "a.рф/$v", "a.xn--p1ai/$v"],
  ["text", "a.$v", "a.b/$v", "a.b-$v", "a.5c/$v", ".bc/$v", "a. bc/$v", "é /$v"],
  // A URL with entities, as renderers decode them, and an e-mail address.
  ["URL", "&sol;$v", "http&COLON;$v", "&#47;$v", "&#x0002F;$v", "a@$v", "a+@$v", "<!@$v", "${v}@a"],
  ["text", "&amp;$v", "&nbsp;$v", "&#47; $v", "# &$v", "&colon $v", "(@$v", "< @$v", "$v @a"],
])("a reference is in %s: %j and its like", (place, ...texts) => {
  for (const text of texts) {
    for (const pieces of [[text], text.split("")]) {
      expect(expanded(lookup, pieces).text).toBe(place === "text" ? replaced(text) : text);
      expect(expanded(lookup, pieces, { inCode: true, inUrls: true }).text).toBe(replaced(text));
    }
  }
});

function atScheme(scheme: string): string {
  return `x ${scheme}:$v`;
}
