import { ByrefError, codeOf, messageOf, requireAtMost } from "../errors.ts";
import { isExactNumber } from "./exact-number.ts";
import type { Json } from "./json.ts";

/** A copy that JSON can represent, and the conversions that it needed. */
export interface Converted {
  readonly value: Json;
  /** One short sentence for each kind of conversion. */
  readonly notes: readonly string[];
}

/**
 * Copies anything that a tool returned. Dates become ISO strings, Maps objects, Sets arrays, BigInts
 * strings, errors their name and message, class instances plain objects; functions and symbols are omitted;
 * each conversion is noted. Results of `toJSON` are used. Throws `bad_value` for a cycle, a promise, bytes,
 * a bare function or an accessor that throws, and `limit_exceeded` for a value that is too deep or too
 * large. Cost: linear.
 */
export function toJson(value: unknown): Converted {
  const converter = new Converter();
  const converted = converter.convert(value, 0);
  const isNothing = converted === undefined && value !== undefined;
  if (isNothing)
    throw refused(
      typeof value === "object" ? "An object that has no JSON form" : `A ${typeof value}`,
    );
  return { value: converted ?? null, notes: [...converter.notes] };
}

class Converter {
  readonly notes = new Set<string>();
  readonly #open = new Set<object>();
  #chars = 0;
  #containers = 0;

  /** Returns `undefined` for a value that JSON omits. */
  convert(value: unknown, depth: number): Json | undefined {
    if (typeof value === "string") return this.#count(value, value.length);
    if (typeof value === "number") {
      return Number.isFinite(value)
        ? this.#count(value, 8)
        : this.#noted("Numbers that are not finite became null.", null);
    }
    if (value === null || typeof value === "boolean") return this.#count(value, 4);
    if (typeof value === "object") return this.#object(value, depth);
    if (typeof value === "bigint") return this.#noted("BigInts became strings.", value.toString());
    if (value !== undefined) this.notes.add("Functions and symbols were left out.");
    return undefined;
  }

  #noted(note: string, value: string | null): Json {
    this.notes.add(note);
    return this.#count(value, value?.length ?? 4);
  }

  #object(value: object, depth: number): Json | undefined {
    if (isExactNumber(value)) return this.#count(value, value.rawJSON.length);
    requireAtMost("maxDepth", depth + 1, "Return flatter data, or text.");
    if (this.#open.has(value)) throw refused("A value that contains itself");
    this.#open.add(value);
    try {
      return this.#copy(value, depth + 1);
    } catch (error) {
      // Reading an object may run a tool's code, which can throw anything.
      if (["bad_value", "limit_exceeded"].includes(codeOf(error))) throw error;
      throw refused(`An object that cannot be read (${messageOf(error)})`);
    } finally {
      this.#open.delete(value);
    }
  }

  #copy(value: object, depth: number): Json | undefined {
    if (Array.isArray(value)) return this.#array(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (isPlain && !("toJSON" in value)) return this.#properties(value, depth);
    if (value instanceof Date) {
      return Number.isNaN(value.getTime())
        ? this.#noted("Invalid dates became null.", null)
        : this.#noted("Dates became ISO strings.", value.toISOString());
    }
    if (value instanceof Map) return this.#map(value, depth);
    if (value instanceof Set) {
      this.notes.add("Sets became arrays.");
      return this.#array([...value], depth);
    }
    if (value instanceof Error) {
      this.notes.add("Errors became their name and message.");
      const { name, message } = value;
      return this.#properties({ name: String(name), message: String(message) }, depth);
    }
    if (value instanceof RegExp)
      return this.#noted("Regular expressions became strings.", String(value));
    if (isBoxed(value)) return this.convert(value.valueOf(), depth);
    if (value instanceof Promise) {
      // The promise is not awaited, so its rejection must not end the process.
      value.catch(() => undefined);
      throw refused("A promise");
    }
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw refused("Bytes");
    if ("toJSON" in value && typeof value.toJSON === "function") {
      const json: unknown = value.toJSON();
      if (json !== value) return this.convert(json, depth);
    }
    // A stream, `Headers` or a generator has its data elsewhere.
    if (!isPlain && Object.keys(value).length === 0)
      throw refused("An object of a class without fields");
    if (!isPlain) this.notes.add("Objects of classes became plain objects.");
    return this.#properties(value, depth);
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): Json {
    this.notes.add("Maps became objects.");
    const isText = (key: unknown) => key === null || !KEYS_WITHOUT_TEXT.has(typeof key);
    if (![...map.keys()].every(isText))
      throw refused("A Map with keys that are objects or symbols");
    const entries = Array.from(map, ([key, inner]): [string, unknown] => [String(key), inner]);
    if (new Set(entries.map(([key]) => key)).size < entries.length) {
      throw refused("A Map with several keys of the same text");
    }
    return this.#properties(Object.fromEntries(entries), depth);
  }

  #array(values: readonly unknown[], depth: number): Json {
    this.#countContainer();
    const copy: Json[] = [];
    for (const value of values) {
      const converted = this.convert(value, depth);
      copy.push(converted === undefined ? this.#count(null, 4) : converted);
    }
    return copy;
  }

  #properties(value: object, depth: number): Json {
    this.#countContainer();
    const entries: [string, Json][] = [];
    for (const key of Object.keys(value)) {
      const converted = this.convert((value as Record<string, unknown>)[key], depth);
      if (converted === undefined) continue;
      this.#count(key, key.length + 3);
      entries.push([key, converted]);
    }
    // Defines own properties, so that a key named __proto__ stays a key.
    return Object.fromEntries(entries);
  }

  /** Counts an array or object. In memory, an empty one takes far more than its two characters of JSON. */
  #countContainer(): void {
    this.#containers++;
    this.#count(null, 1);
    requireAtMost("maxContainers", this.#containers, "Return flatter data, or text.");
  }

  /** Counts characters. A value with shared parts can be far larger as JSON than in memory. */
  #count<Result>(result: Result, chars: number): Result {
    this.#chars += chars + 1;
    requireAtMost("maxJsonBytes", this.#chars, "Return a part of it, or text.");
    return result;
  }
}

const KEYS_WITHOUT_TEXT: ReadonlySet<string> = new Set(["object", "function", "symbol"]);

/** True for boxed primitives such as `new Number(5)`, which JSON unboxes. */
function isBoxed(value: object): boolean {
  const tag = Object.prototype.toString.call(value);
  return tag === "[object Number]" || tag === "[object String]" || tag === "[object Boolean]";
}

function refused(what: string): ByrefError {
  return new ByrefError("bad_value", `${what} cannot be kept as a variable; return JSON instead.`);
}
