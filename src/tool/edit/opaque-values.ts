import { isJsonArray, isScalar, type Json } from "../../value/json.ts";

/**
 * Guarded values that are put into a value by edits. While it is edited, a unique symbol replaces each of
 * them, so that neither a path nor a test can depend on its content.
 */
export class OpaqueValues {
  readonly #values = new Map<unknown, Json>();

  /** Returns the symbol, which counts as a scalar. */
  hide(value: Json): Json {
    const symbol = Symbol("guarded");
    this.#values.set(symbol, value);
    return symbol as unknown as Json;
  }

  /** Returns the value with all hidden values. */
  show(value: Json): Json {
    if (this.#values.size === 0) return value;
    if (isScalar(value)) return this.#values.get(value) ?? value;
    if (isJsonArray(value)) return value.map((inner) => this.show(inner));
    const entries = Object.entries(value).map(([key, inner]) => [key, this.show(inner)] as const);
    return Object.fromEntries(entries);
  }
}
