// Renders Markdown with real renderers and finds the URLs in the result.

import * as commonmark from "commonmark";
import MarkdownIt from "markdown-it";
import { Marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type DefaultTreeAdapterTypes as Tree, parse } from "parse5";

/** All renderers that can pass raw HTML through do so, as on a carelessly built page. */
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
// Allows links of every scheme, so that the test sees all of them.
plain.validateLink = () => true;
const linkifying = new MarkdownIt({ html: true, linkify: true });
// Earlier versions of linkify also link names without a scheme.
linkifying.linkify.set({ fuzzyLink: true, fuzzyEmail: true, fuzzyIP: true });
linkifying.validateLink = () => true;
const reader = new commonmark.Parser();
const writer = new commonmark.HtmlRenderer();

/** A URL on a page, decoded as a server would decode it, with the text that it belongs to. */
export type PageUrl = { readonly attribute: string; readonly url: string; readonly text: string };

/** Attributes whose value a browser fetches, follows, submits to or executes. */
const URL_ATTRIBUTES = new Set(
  (
    "href src srcset action formaction poster data cite background longdesc ping manifest codebase " +
    "classid archive profile usemap icon dynsrc lowsrc imagesrcset xlink:href srcdoc style content"
  ).split(" "),
);

/** The rest of the page may close what the answer left open. */
const REST_OF_PAGE = `<i title=""></i><i title=''></i>-->`;

/** Returns every URL of a page that contains this HTML, including those in templates. */
export function urlsOf(html: string): readonly PageUrl[] {
  const found: PageUrl[] = [];
  const waiting: Tree.Node[] = [
    parse(`<!doctype html><body>${html}${REST_OF_PAGE}`, { scriptingEnabled: false }),
  ];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("content" in node) waiting.push(node.content);
    if ("childNodes" in node) waiting.push(...node.childNodes);
    if (!("attrs" in node)) continue;
    // A script or style may fetch any URL that its text contains.
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

/** Decodes percent escapes and lowercases. Invalid escapes stay as they are. */
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
