import { type Json, parsePath, readPath } from "../../../../src/references.ts";
import { json } from "../../../../src/internal.ts";
import type { Random } from "../random.ts";
import { type SeenCall, type Sight, parsed } from "./sight.ts";
import type { Skill } from "./skills.ts";

/** A value to write, or the call that has to be made to see more of it. Undefined: it cannot be had. */
export type Grasp =
  | { readonly value: Json }
  | { readonly call: { readonly tool: string; readonly input: object } }
  | undefined;

/** Reads of one value before a model gives up. */
const MAX_READS = 30;

export interface HandOptions {
  readonly skill: Skill;
  /** Random numbers of this request. */
  readonly random: Random;
  /** Constant in all requests of a conversation. */
  readonly ignoresGuide: boolean;
}

/** Writes what a model has seen, with the errors of its skill. */
export class Hand {
  readonly #sight: Sight;
  readonly #options: HandOptions;

  constructor(sight: Sight, options: HandOptions) {
    this.#sight = sight;
    this.#options = options;
  }

  /** Passes the result of a call on: by reference where there is one, or else as a copy. */
  pass(call: SeenCall, path = ""): Grasp {
    const name = variableIn(call.output);
    if (name !== undefined && !this.#options.ignoresGuide) {
      return { value: this.#reference(name, path) };
    }
    const seen = this.see(call);
    if (seen === undefined || "call" in seen) return seen;
    const part = path === "" ? seen.value : partOf(seen.value, path);
    return part === undefined ? undefined : { value: this.copy(part) };
  }

  /** The value of a call's result, read in parts if it is not in the prompt. */
  see({ output }: SeenCall): Grasp {
    if (output === undefined) return undefined;
    if (json.isObject(output) && typeof output.$var === "string") {
      return "value" in output ? { value: output.value as Json } : this.#read(output);
    }
    if (json.isObject(output) && typeof output.file === "string") return this.#readFile(output);
    if (typeof output !== "string") return { value: output };
    return { value: withoutCut(output) };
  }

  /** Copies a value character by character. */
  copy(value: Json): Json {
    const { copyErrorsPer1000 } = this.#options.skill;
    if (copyErrorsPer1000 === 0) return value;
    if (typeof value === "string") return this.#copied(value);
    if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
    // Numbers stay: a wrong digit at the start of one would not be JSON.
    const text = this.#copied(JSON.stringify(value));
    const copied = parsed(text);
    return typeof copied === "string" ? value : copied;
  }

  #copied(text: string): string {
    const { random, skill } = this.#options;
    const characters = [...text];
    let owed = 0;
    for (const [index, character] of characters.entries()) {
      if (random.chance(skill.copyErrorsPer1000 / 1_000)) owed++;
      if (owed === 0 || !/[a-z]/iu.test(character)) continue;
      characters[index] = another(character, random);
      owed--;
    }
    return characters.join("");
  }

  #reference(name: string, path: string): string {
    const { random, skill } = this.#options;
    return `$${random.chance(skill.misspells) ? misspelled(name, random) : name}${path}`;
  }

  #read(handle: Readonly<Record<string, unknown>>): Grasp {
    const name = String(handle.$var);
    const pieces = this.#sight.calls.flatMap(({ tool, input, output }) => {
      const isPiece = tool === "read_variable" && input.name === name && json.isObject(output);
      return isPiece ? [output as Piece] : [];
    });
    const last = pieces.at(-1);
    if (last !== undefined && last.next === undefined) return { value: joined(pieces) };
    if (pieces.length >= MAX_READS || !this.#sight.tools.has("read_variable")) return undefined;
    return { call: { tool: "read_variable", input: last?.next ?? { name } } };
  }

  #readFile({ file, characters }: Readonly<Record<string, unknown>>): Grasp {
    const pieces = this.#sight.calls.flatMap(({ tool, input, output }) =>
      tool === "read_file" && input.path === file && output !== undefined
        ? [typeof output === "string" ? output : JSON.stringify(output)]
        : [],
    );
    const text = pieces.join("");
    if (text.length >= Number(characters)) return { value: parsed(text) };
    if (pieces.length >= MAX_READS) return undefined;
    return { call: { tool: "read_file", input: { path: file, offset: text.length } } };
  }
}

interface Piece {
  readonly value?: Json;
  readonly next?: object;
}

function joined(pieces: readonly Piece[]): Json {
  const values = pieces.map(({ value = null }) => value);
  const [first = null] = values;
  if (typeof first === "string") return values.join("");
  return json.isJsonArray(first)
    ? values.flatMap((value) => (json.isJsonArray(value) ? value : []))
    : first;
}

export function variableIn(output: Json | undefined): string | undefined {
  return json.isObject(output) && typeof output.$var === "string" ? output.$var : undefined;
}

/** Returns the readable part of a clipped result: the complete records. */
function withoutCut(text: string): Json {
  const [, start = text] = /^([\s\S]*)\n\[cut: \d+ more characters\]$/u.exec(text) ?? [];
  if (start === text || !start.startsWith("[{")) return start;
  const end = start.lastIndexOf("},{");
  return end < 0 ? start : parsed(`${start.slice(0, end + 1)}]`);
}

function partOf(value: Json, path: string): Json | undefined {
  const parsedPath = parsePath(path);
  const reading = parsedPath === undefined ? undefined : readPath(value, parsedPath);
  return reading?.found === true ? reading.value : undefined;
}

function another(character: string, random: Random): string {
  const letters = character === character.toLowerCase() ? LOWER : LOWER.toUpperCase();
  return random.one([...letters].filter((letter) => letter !== character));
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";

/** Leaves out one of the letters behind the first. */
function misspelled(name: string, random: Random): string {
  const at = random.between(1, name.length - 2);
  return name.slice(0, at) + name.slice(at + 1);
}
