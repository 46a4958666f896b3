import { ByrefError, limitExceeded, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Json } from "./json.ts";

/** A copy that JSON can hold, and what had to be converted for it. */
export interface Converted {
  readonly value: Json;
  /** One short sentence for each kind of conversion that happened. */
  readonly notes: readonly string[];
}

/**
 * A copy of anything that a tool returned. Dates become ISO strings, Maps objects, Sets arrays, BigInts
 * strings, errors their name and message; what `toJSON` says is taken; functions and symbols are left
 * out; each of these is noted. Throws `bad_value` for a cycle, bytes, a function alone or an accessor
 * that throws, and `limit_exceeded` for what is too deep or too large. Cost: linear.
 */
export function toJson(value: unknown): Converted {
  const converter = new Converter();
  const converted = converter.convert(value, 0);
  if (converted === undefined && value !== undefined) throw refused(`A ${typeof value}`);
  return { value: converted ?? null, notes: [...converter.notes] };
}

class Converter {
  readonly notes = new Set<string>();
  readonly #open = new Set<object>();
  #chars = 0;

  /** `undefined` for what JSON leaves out. */
  convert(value: unknown, depth: number): Json | undefined {
    switch (typeof value) {
      case "string":
        return this.#count(value, value.length);
      case "boolean":
        return this.#count(value, 4);
      case "number":
        return this.#number(value);
      case "bigint":
        return this.#noted("BigInts became strings.", value.toString());
      case "undefined":
        return undefined;
      case "function":
      case "symbol":
        return this.#noted("Functions and symbols were left out.", undefined);
      case "object":
        return value === null ? this.#count(null, 4) : this.#object(value, depth);
      default:
        return undefined;
    }
  }

  #number(value: number): Json {
    if (Number.isFinite(value)) return this.#count(value, 8);
    return this.#noted("Numbers that are not finite became null.", null);
  }

  #object(value: object, depth: number): Json | undefined {
    if (depth >= limits.maxDepth) {
      const advice = "Return flatter data, or text.";
      throw limitExceeded("maxDepth", { maximum: limits.maxDepth, actual: depth + 1, advice });
    }
    if (this.#open.has(value)) throw refused("A value that contains itself");
    this.#open.add(value);
    try {
      return this.#copy(value, depth + 1);
    } catch (error) {
      throw error instanceof ByrefError
        ? error
        : refused(`An object that cannot be read (${messageOf(error)})`);
    } finally {
      this.#open.delete(value);
    }
  }

  #copy(value: object, depth: number): Json | undefined {
    if (Array.isArray(value)) return this.#array(value, depth);
    if (value instanceof Date) return this.#date(value);
    if (value instanceof Map) {
      this.notes.add("Maps became objects.");
      return this.#entries(
        Array.from(value, ([key, inner]) => [String(key), inner]),
        depth,
      );
    }
    if (value instanceof Set) {
      this.notes.add("Sets became arrays.");
      return this.#array([...value], depth);
    }
    if (value instanceof Error) {
      return this.#noted("Errors became their name and message.", {
        name: value.name,
        message: value.message,
      });
    }
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw refused("Bytes");
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return this.convert(value.toJSON(), depth);
    }
    return this.#entries(Object.entries(value), depth);
  }

  #array(values: readonly unknown[], depth: number): Json {
    this.#count(null, 2);
    const copy: Json[] = [];
    for (const value of values) copy.push(this.convert(value, depth) ?? null);
    return copy;
  }

  #entries(entries: readonly (readonly [string, unknown])[], depth: number): Json {
    this.#count(null, 2);
    const copy: [string, Json][] = [];
    for (const [key, inner] of entries) {
      const converted = this.convert(inner, depth);
      if (converted === undefined) continue;
      this.#count(key, key.length + 3);
      copy.push([key, converted]);
    }
    // Defines own properties, so that a key named __proto__ stays a key.
    return Object.fromEntries(copy);
  }

  #date(value: Date): Json {
    if (Number.isNaN(value.getTime())) return this.#noted("Invalid dates became null.", null);
    return this.#noted("Dates became ISO strings.", value.toISOString());
  }

  #noted<Result>(note: string, result: Result): Result {
    this.notes.add(note);
    return result;
  }

  /** A value that shares parts of itself can be far larger as JSON than in memory. */
  #count<Result>(result: Result, chars: number): Result {
    this.#chars += chars + 1;
    if (this.#chars > limits.maxJsonBytes) {
      const advice = "Return a part of it, or text.";
      throw limitExceeded("maxJsonBytes", {
        maximum: limits.maxJsonBytes,
        actual: this.#chars,
        advice,
      });
    }
    return result;
  }
}

function refused(what: string): ByrefError {
  return new ByrefError("bad_value", `${what} cannot be kept as a variable; return JSON instead.`);
}
