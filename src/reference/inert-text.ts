/** Characters that open a link, image, autolink, definition or tag, alone or together with the preceding text. */
const URL_PARTS =
  /\\+|[&<@=]|\/(?=[/\\])|\.(?=\p{L})|(?<=www)\.|(?<=[a-z]):|\](?=\s*[(:])|^[(:./]/giu;

/** An invisible character that prevents a line break. */
const WORD_JOINER = "\u2060";

/**
 * Makes the URLs of a text inert, so that no Markdown or HTML renderer makes a link, image or tag of them.
 * A backslash escapes each opening character. A word joiner separates `//`, `www.` and tags for renderers
 * that search their own output for URLs. Text without such characters does not change.
 */
export function inertText(text: string): string {
  return text.replace(URL_PARTS, (part, at: number) => {
    // A table has escaped its bars, and what is before them.
    if (part.startsWith("\\")) return text[at + part.length] === "|" ? part : part + part;
    const isJoined = part === "/" || part === "<" || /www$/i.test(text.slice(at - 3, at));
    return `\\${part}${isJoined ? WORD_JOINER : ""}`;
  });
}
