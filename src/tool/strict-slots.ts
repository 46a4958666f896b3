import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { type Definition, mapSubschemas } from "./json-schema.ts";
import type { Slot, SlotOptions, Slots } from "./widen-schema.ts";

/** The references that a model may write now. */
interface Live {
  /** How the model writes a name with its path. */
  readonly write: (reference: string) => string;
  /** The references to values that fit the schema, oldest first. `secrets`: those that the tool receives. */
  fitting(schema: Definition, root: JSONSchema7, secrets?: readonly string[]): readonly Offered[];
}

/** A reference that a model may write now. */
export interface Offered {
  readonly name: string;
  /** The reference as the model writes it. */
  readonly text: string;
}

/** The places for references in one schema, each limited to the references that fit there. */
export class StrictSlots implements Slots {
  readonly #root: JSONSchema7;
  readonly #live: Live;
  readonly #options: SlotOptions;
  /** Slots by the references that they accept. */
  readonly #slots = new Map<string, Slot & { uses: number }>();
  /** True if pointers lead to places below a value, which therefore must stay where they are. */
  readonly #keepsPlaces: boolean;
  /** False if pointers to the root may mean another schema. */
  readonly #canShare: boolean;

  constructor(root: JSONSchema7, live: Live, options: SlotOptions) {
    const json = JSON.stringify(root);
    this.#root = root;
    this.#live = live;
    this.#options = options;
    this.#keepsPlaces = POINTER_INSIDE.test(json);
    this.#canShare = !json.includes('"$id"') && isRecord(root.$defs ?? {});
  }

  for(schema: Definition): Slot | undefined {
    const references = this.#live.fitting(schema, this.#root, this.#options.secrets);
    if (references.length === 0) return undefined;
    const key = references.map(({ text }) => text).join(" ");
    const slot = this.#slots.get(key) ?? { ...this.#slotOf(references), uses: 0 };
    this.#slots.set(key, slot);
    slot.uses++;
    return slot.uses > 1 && this.#isShared(slot) ? { ...slot, chars: SHARED_CHARS } : slot;
  }

  shared(widened: JSONSchema7): JSONSchema7 {
    const { $defs = {} } = widened;
    const added: Record<string, JSONSchema7> = {};
    const pointers = new Map<Definition, JSONSchema7>();
    for (const slot of this.#slots.values()) {
      if (!this.#isShared(slot)) continue;
      let name = "references";
      while (name in $defs || name in added) name += "_";
      added[name] = slot.schema;
      pointers.set(slot.schema, { $ref: `#/$defs/${name}` });
    }
    if (pointers.size === 0) return widened;
    const place = (part: Definition): Definition =>
      typeof part === "boolean" ? part : (pointers.get(part) ?? mapSubschemas(part, place));
    return { ...mapSubschemas(widened, place), $defs: { ...$defs, ...added } };
  }

  #isShared({ uses, chars, keywords }: Slot & { readonly uses: number }): boolean {
    return this.#canShare && keywords === undefined && uses > 1 && chars > 2 * SHARED_CHARS;
  }

  #slotOf(references: readonly Offered[]): Slot {
    const { reference } = this.#options;
    const texts = references.map(({ text }) => text);
    const some =
      texts.length > limits.maxReferenceAlternatives
        ? { pattern: patternOf(references, this.#live) }
        : { enum: texts };
    const schema = { ...reference, ...some };
    const chars = JSON.stringify({ anyOf: [schema] }).length;
    if (!this.#keepsPlaces) return { schema, chars };
    const { pattern = `^(?:${texts.map(escaped).join("|")})$` } = some;
    return { schema, chars, keywords: { pattern } };
  }
}

/** A `$ref` to something other than the root or a definition. */
const POINTER_INSIDE = /"\$ref":"(?!#"|#\/(?:\$defs|definitions)\/[^/"]+")/u;
const SHARED_CHARS = '{"anyOf":[{"$ref":"#/$defs/references"}]}'.length;

/** Accepts the names of the references, newest first as far as there is room, with any path. */
function patternOf(references: readonly Offered[], { write }: Live): string {
  const names = new Set<string>();
  let chars = 0;
  for (const { name } of references.toReversed()) {
    if (names.has(name)) continue;
    chars += name.length + 1;
    if (chars > limits.maxWidenedChars / 2) break;
    names.add(name);
  }
  const [before = "", after = ""] = write(" ").split(" ");
  const path = "(?:\\.\\w+|\\[[^\\]\\n]*\\])*";
  return `^${escaped(before)}(?:${[...names].map(escaped).join("|")})${path}${escaped(after)}$`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
