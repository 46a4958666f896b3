import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { memo, type ReactNode } from "react";
import { digitsOf, numberWords } from "../words.ts";
import "./markdown.css";

/** Renders the text between two marks. `isLinked` is true within a link, which must not contain a button. */
export type RenderMarked = (index: number, text: ReactNode, isLinked: boolean) => ReactNode;

const OPEN = "\uE000";
const CLOSE = "\uE001";
const FIRST_INDEX = 0xe100;
const MAX_MARKS = 4_000;
const ANY_MARK = /[\uE000\uE001]/g;
/** A mark with its index, or the text up to the next one. */
const PIECE = /([\uE000\uE001])([^])|[^\uE000\uE001]+/g;

/** Removes the characters that marks are made of. Texts from models, tools and people must not have them. */
export function withoutMarks(text: string): string {
  return text.replaceAll(ANY_MARK, "");
}

/** Returns the offsets of the characters that `withoutMarks` removes. */
export function marksIn(text: string): readonly number[] {
  return Array.from(text.matchAll(ANY_MARK), ({ index }) => index);
}

/** Puts the text between characters that Markdown takes for letters. Without them from the 4,000th text on. */
export function marked(index: number, text: string): string {
  const own = withoutMarks(text);
  if (index >= MAX_MARKS) return own;
  const at = String.fromCharCode(FIRST_INDEX + index);
  return OPEN + at + own + CLOSE + at;
}

export interface MarkdownProps {
  readonly text: string;
  readonly renderMarked?: RenderMarked;
  /** True for a value: the numbers of a column then have one format. */
  readonly isValue?: boolean;
}

/**
 * Renders Markdown as elements. HTML in it stays text, images become links, and only web and mail addresses are
 * linked, because the text may come from an untrusted source.
 */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const { text, renderMarked, isValue = false } = props;
  const tokens = tokensOf(text);
  const printer = new Printer(renderMarked, isValue);
  const printed = printer.all(tokens);
  return (
    <div className="markdown" dir="auto">
      {printer.isWhole ? printed : new Printer(undefined).all(tokens)}
    </div>
  );
});

/** The lexer calls itself for each level: a text with thousands of them stays plain. */
function tokensOf(text: string): readonly Token[] {
  try {
    return Lexer.lex(text, { gfm: true });
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** What is inside of so many others is shown as its source. */
const MAX_LEVELS = 100;

/** Renders the tokens in order. A mark can begin in one token and end in another. */
class Printer {
  readonly #renderMarked: RenderMarked | undefined;
  readonly #isValue: boolean;
  #open: number | undefined;
  #last = -1;
  #linked = 0;
  #levels = 0;
  #isBroken = false;

  constructor(renderMarked: RenderMarked | undefined, isValue = false) {
    this.#renderMarked = renderMarked;
    this.#isValue = isValue;
  }

  /**
   * False if Markdown has read one end of a mark as part of an address or title. The mark would then cover too
   * much.
   */
  get isWhole(): boolean {
    return !this.#isBroken && this.#open === undefined;
  }

  /** Renders blocks, or the parts of a line. */
  all(tokens: readonly Token[] = []): ReactNode {
    if (this.#levels === MAX_LEVELS) return this.#text(tokens.map(({ raw }) => raw).join(""));
    this.#levels++;
    const shown = tokens.map((token, key) => this.#one(token as MarkedToken, key));
    this.#levels--;
    return shown;
  }

  #one(token: MarkedToken, key: number): ReactNode {
    switch (token.type) {
      case "heading": {
        // The first level is the conversation's title.
        const Heading = `h${Math.min(6, token.depth + 1)}` as "h2";
        return <Heading key={key}>{this.all(token.tokens)}</Heading>;
      }
      case "paragraph":
        return <p key={key}>{this.all(token.tokens)}</p>;
      case "code":
        return (
          <pre key={key} tabIndex={0}>
            <code>{this.#text(token.text)}</code>
          </pre>
        );
      case "blockquote":
        return <blockquote key={key}>{this.all(token.tokens)}</blockquote>;
      case "list":
        return this.#list(token, key);
      case "table":
        return this.#table(token, key);
      case "hr":
        return <hr key={key} />;
      case "html": {
        const Html = token.block ? "p" : "span";
        return <Html key={key}>{this.#text(token.text)}</Html>;
      }
      case "strong":
      case "em":
      case "del": {
        const Tag = token.type;
        return <Tag key={key}>{this.all(token.tokens)}</Tag>;
      }
      case "codespan":
        return <code key={key}>{this.#text(token.text)}</code>;
      case "br":
        return <br key={key} />;
      case "link":
      case "image":
        return <span key={key}>{this.#link(token)}</span>;
      case "space":
      case "def":
      case "checkbox":
        return null;
      default:
        return <span key={key}>{this.#leaf(token)}</span>;
    }
  }

  #list(token: Tokens.List, key: number): ReactNode {
    const items = token.items.map((item, at) => (
      <li key={at} className={item.task ? "markdown-task" : undefined}>
        {item.task && <input type="checkbox" disabled checked={item.checked === true} readOnly />}
        {this.all(item.tokens)}
      </li>
    ));
    const Tag = (token.ordered ? "ol" : "ul") as "ol";
    return (
      <Tag key={key} start={token.start === "" ? undefined : token.start}>
        {items}
      </Tag>
    );
  }

  #table({ header, rows, align }: Tokens.Table, key: number): ReactNode {
    const isNumeric = header.map((_, at) => rows.every((row) => NUMBER.test(plain(row[at]?.text))));
    const numbers = header.map(({ text }, at) => {
      const cells = rows.map((row) => row[at]?.text ?? "");
      if (!this.#isValue || !cells.every(isJsonNumber)) return undefined;
      const digits = digitsOf(cells.map(Number));
      return cells.map((cell) => numberWords(Number(cell), text, digits));
    });
    const side = (at: number) =>
      ({ textAlign: align[at] ?? (isNumeric[at] === true ? "right" : "left") }) as const;
    return (
      <div key={key} className="markdown-table" tabIndex={0} role="group" aria-label="Table">
        <table>
          <thead>
            <tr>
              {header.map((cell, at) => (
                <th key={at} scope="col" style={side(at)}>
                  {this.all(cell.tokens)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, at) => (
                  <td key={at} style={side(at)} data-value={numbers[at] && cell.text}>
                    {numbers[at]?.[index] ?? this.all(cell.tokens)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  #link({ href, text, tokens }: Tokens.Link | Tokens.Image): ReactNode {
    const address = addressOf(href);
    this.#linked++;
    const shown = tokens === undefined ? this.#text(text) : this.all(tokens);
    this.#linked--;
    if (address === undefined) return shown;
    return (
      <a href={address} target="_blank" rel="noopener noreferrer nofollow">
        {shown}
      </a>
    );
  }

  #leaf(token: MarkedToken): ReactNode {
    if ("tokens" in token && token.tokens !== undefined) return this.all(token.tokens);
    // The lexer decodes entities with numbers, which must not make marks.
    const isSame = "text" in token && marksIn(token.text).length === marksIn(token.raw).length;
    return this.#text(isSame ? decoded(token.text) : token.raw);
  }

  /** Splits a text at its marks. */
  #text(text: string): ReactNode {
    if (this.#open === undefined && text.search(ANY_MARK) === -1) return text;
    const pieces: ReactNode[] = [];
    for (const [piece, end, at = ""] of text.matchAll(PIECE)) {
      if (end === undefined) pieces.push(<span key={pieces.length}>{this.#shown(piece)}</span>);
      else this.#mark(end, at.charCodeAt(0) - FIRST_INDEX);
    }
    return pieces;
  }

  /** Marks are never nested. */
  #mark(end: string, index: number): void {
    const isOpening = end === OPEN;
    const follows = isOpening
      ? this.#open === undefined && index > this.#last
      : this.#open === index;
    if (!follows) this.#isBroken = true;
    this.#open = isOpening ? index : undefined;
    this.#last = index;
  }

  #shown(piece: string): ReactNode {
    if (this.#open === undefined || this.#renderMarked === undefined) return piece;
    return this.#renderMarked(this.#open, piece, this.#linked > 0);
  }
}

const NUMBER = /^[-+]?[\d.,\s]*\d[\d.,\s]*%?$/;

/** True for the text of a number that a double holds exactly. */
export function isJsonNumber(text: string): boolean {
  return String(Number(text)) === text;
}

/** Removes the marks from a text. */
function plain(text = ""): string {
  return text.replaceAll(/[\uE000\uE001][^]/g, "");
}

/** Returns undefined unless the address begins with http, https or mailto. */
function addressOf(href: string): string | undefined {
  try {
    const url = new URL(plain(href));
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": "\u00a0",
};

function decoded(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity);
}
