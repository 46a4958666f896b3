// What real renderers make of a Markdown text, and which URLs stand in it.

import * as commonmark from "commonmark";
import MarkdownIt from "markdown-it";
import { Marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type DefaultTreeAdapterTypes as Tree, parse } from "parse5";

/** Raw HTML passes through every renderer that can let it pass, as a careless page would have it. */
export const renderers: Readonly<Record<string, (text: string) => string>> = {
  marked: (text) => marked.parse(text, { async: false }),
  micromark: (text) => micromark(text, gfmOptions),
  "markdown-it": (text) => plain.render(text),
  "markdown-it with HTML and linkify": (text) => linkifying.render(text),
  commonmark: (text) => writer.render(reader.parse(text)),
};

const marked = new Marked({ gfm: true });
const gfmOptions = {
  allowDangerousHtml: true,
  allowDangerousProtocol: true,
  extensions: [gfm()],
  htmlExtensions: [gfmHtml()],
};
const plain = new MarkdownIt();
// Links of any scheme are shown as links, so that none is hidden from the test.
plain.validateLink = () => true;
const linkifying = new MarkdownIt({ html: true, linkify: true });
// Names without a scheme too, as its earlier versions do.
linkifying.linkify.set({ fuzzyLink: true, fuzzyEmail: true, fuzzyIP: true });
linkifying.validateLink = () => true;
const reader = new commonmark.Parser();
const writer = new commonmark.HtmlRenderer();

/** A URL of a page, decoded as far as a server would see it, and what it stands for on the page. */
export interface PageUrl {
  readonly attribute: string;
  readonly url: string;
  readonly text: string;
}

/** Attributes that a browser fetches, follows, sends to or runs. */
const URL_ATTRIBUTES = new Set(
  (
    "href src srcset action formaction poster data cite background longdesc ping manifest codebase " +
    "classid archive profile usemap icon dynsrc lowsrc imagesrcset xlink:href srcdoc style content"
  ).split(" "),
);

/** What follows on the page may end what the answer left open. */
const REST_OF_PAGE = `<i title=""></i><i title=''></i>-->`;

/** Every URL of a page with this in it, templates included. */
export function urlsOf(html: string): readonly PageUrl[] {
  const found: PageUrl[] = [];
  const waiting: Tree.Node[] = [
    parse(`<!doctype html><body>${html}${REST_OF_PAGE}`, { scriptingEnabled: false }),
  ];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("content" in node) waiting.push(node.content);
    if ("childNodes" in node) waiting.push(...node.childNodes);
    if (!("attrs" in node)) continue;
    // Code may fetch whatever is in it.
    const isCode = node.tagName === "script" || node.tagName === "style";
    if (isCode) found.push({ attribute: "", url: decoded(textOf(node)), text: "" });
    for (const { name, prefix, value } of node.attrs) {
      const attribute = prefix === undefined || prefix === "" ? name : `${prefix}:${name}`;
      const isUrl = URL_ATTRIBUTES.has(attribute) || attribute.startsWith("on");
      if (isUrl) found.push({ attribute, url: decoded(value), text: textOf(node) });
    }
  }
  return found;
}

/** Without escapes by percent and in lower case; what is wrongly escaped stays. */
function decoded(url: string): string {
  return url
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase();
}

function textOf(node: Tree.ParentNode): string {
  return node.childNodes
    .map((child) => {
      if ("value" in child) return child.value;
      return "childNodes" in child ? textOf(child) : "";
    })
    .join("");
}
