import { isPlainKey } from "./path.ts";

/** The kinds that a part of a value may have. Unknown if empty. */
export type Shape = readonly Kind[];

type Kind =
  | "string"
  | "number"
  | "boolean"
  | "null"
  | { readonly elements: Shape }
  /** `isOpen`: there may be other keys. */
  | { readonly keys: readonly ShapeKey[]; readonly isOpen: boolean };

export interface ShapeKey {
  readonly key: string;
  /** True if some objects lack it. */
  readonly isOptional: boolean;
  readonly shape: Shape;
}

/** Reads what `shapeOf` has written. Parts that it left out, and a text that it cut, are unknown. */
export function parseShape(text: string): Shape {
  const reader = new ShapeReader(text);
  try {
    const shape = reader.union();
    return reader.isAtEnd ? shape : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\w+|\[\]|\S/gu;
const NAMES = ["string", "number", "boolean", "null"] as const;

/** Reads a text from its start. Throws a SyntaxError for anything that is not a shape. */
class ShapeReader {
  /** The last one is the next. */
  readonly #tokens: string[];

  constructor(text: string) {
    this.#tokens = text.match(TOKEN)?.reverse() ?? [];
  }

  get isAtEnd(): boolean {
    return this.#tokens.length === 0;
  }

  union(): Shape {
    const shapes = [this.#postfixed()];
    while (this.#takes("|")) shapes.push(this.#postfixed());
    return shapes.every(({ length }) => length > 0) ? shapes.flat() : [];
  }

  #postfixed(): Shape {
    let shape = this.#single();
    while (this.#takes("[]")) shape = [{ elements: shape }];
    return shape;
  }

  #single(): Shape {
    const token = this.#tokens.pop();
    if (token === "{") return this.#object();
    if (token === "unknown" || token === "…") return [];
    const name = NAMES.find((known) => known === token);
    if (name !== undefined) return [name];
    if (token !== "(") throw new SyntaxError();
    const shape = this.union();
    this.#require(")");
    return shape;
  }

  #object(): Shape {
    const keys: ShapeKey[] = [];
    let isOpen = false;
    for (; !this.#takes("}"); this.#takes(",")) {
      if (this.#takes("…")) isOpen = true;
      else {
        const key = keyIn(this.#tokens.pop());
        const isOptional = this.#takes("?");
        this.#require(":");
        keys.push({ key, isOptional, shape: this.union() });
      }
    }
    return [{ keys, isOpen }];
  }

  #takes(token: string): boolean {
    if (this.#tokens.at(-1) !== token) return false;
    this.#tokens.pop();
    return true;
  }

  #require(token: string): void {
    if (!this.#takes(token)) throw new SyntaxError();
  }
}

function keyIn(token = ""): string {
  if (token.startsWith('"')) return String(JSON.parse(token));
  if (isPlainKey(token)) return token;
  throw new SyntaxError();
}
