import { isDigit, isWordCode } from "./characters.ts";

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
  const shape = reader.union();
  return reader.isAtEnd ? shape : [];
}

const NAMES = ["string", "number", "boolean", "null"] as const;
const UNKNOWN = ["unknown", "…"];

class ShapeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** False after anything that is not a shape. */
  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  union(): Shape {
    const kinds: Kind[] = [];
    let isKnown = true;
    do {
      const shape = this.#postfixed();
      isKnown &&= shape.length > 0;
      kinds.push(...shape);
    } while (this.#takes(" | "));
    return isKnown ? kinds : [];
  }

  #postfixed(): Shape {
    let shape = this.#single();
    while (this.#takes("[]")) shape = [{ elements: shape }];
    return shape;
  }

  #single(): Shape {
    const name = NAMES.find((known) => this.#takes(known));
    if (name !== undefined) return [name];
    if (UNKNOWN.some((unknown) => this.#takes(unknown))) return [];
    if (this.#takes("(")) {
      const shape = this.union();
      return this.#takes(")") ? shape : this.#fail();
    }
    return this.#takes("{") ? this.#object() : this.#fail();
  }

  #object(): Shape {
    const keys: ShapeKey[] = [];
    let isOpen = false;
    while (!this.#takes("}")) {
      if (this.#takes("…")) {
        isOpen = true;
        continue;
      }
      const key = this.#key();
      const isOptional = this.#takes("?");
      if (key === undefined || !this.#takes(": ")) return this.#fail();
      keys.push({ key, isOptional, shape: this.union() });
      this.#takes(", ");
    }
    return [{ keys, isOpen }];
  }

  #key(): string | undefined {
    const start = this.#at;
    if (this.#text[start] === '"') return this.#quoted();
    while (isWordCode(this.#text.charCodeAt(this.#at))) this.#at++;
    const isKey = this.#at > start && !isDigit(this.#text.charCodeAt(start));
    return isKey ? this.#text.slice(start, this.#at) : undefined;
  }

  #quoted(): string | undefined {
    const [text] = /^"(?:[^"\\]|\\.)*"/u.exec(this.#text.slice(this.#at)) ?? [];
    if (text === undefined) return undefined;
    this.#at += text.length;
    return String(JSON.parse(text));
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** Leaves a position that is never the end. */
  #fail(): Shape {
    this.#at = this.#text.length + 1;
    return [];
  }
}
