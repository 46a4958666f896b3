import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { writerIn } from "../reference/syntaxes.ts";
import type { VariableInfo } from "../store/variable.ts";
import { formatPath, isPlainKey, type Path } from "../value/path.ts";
import { type Kind, parseShape, type Shape, type ShapeKey } from "../value/parse-shape.ts";
import { type Definition, foldSchema, ownSchemaAt, ownTypes } from "./json-schema.ts";
import { describesUntrusted, guardedView } from "./tool-output.ts";
import { type Offered, StrictSlots } from "./strict-slots.ts";
import type { LiveReferences, SlotOptions, Slots } from "./widen-schema.ts";
import type { WrapOptions } from "./wrapped-tool.ts";

/** References to values of one shape. */
interface Group {
  readonly shape: Shape;
  /** Passed only to tools that list it. */
  readonly secret: string | undefined;
  readonly references: Offered[];
}

/**
 * The references that exist now: the newest variables, with paths from their shapes. A guarded or hidden variable
 * has only its name, and only the type that its handle shows. Keys of untrusted values are left out until the model
 * has seen untrusted content.
 */
class NewestVariables implements LiveReferences {
  /** How the model writes a name with its path. */
  readonly write: (reference: string) => string;
  readonly #groups = new Map<string, Group>();

  constructor(write: NewestVariables["write"], { store, untrusted, taint }: WrapOptions) {
    this.write = write;
    for (const info of store.list({ last: limits.maxOfferedVariables })) {
      if (info.scope === "run") continue;
      const isHidden = untrusted === "hide" && !info.trusted;
      const showsKeys = !describesUntrusted(info) || taint?.isTainted === true;
      this.#add(info, { isHidden, showsKeys });
    }
  }

  slots(root: JSONSchema7, options: SlotOptions): Slots {
    return new StrictSlots(root, this, options);
  }

  fitting(
    schema: Definition,
    root: JSONSchema7,
    secrets: readonly string[] = [],
  ): readonly Offered[] {
    const fitting = [...this.#groups.values()].filter(
      ({ shape, secret }) =>
        (secret === undefined || secrets.includes(secret)) && fits(shape, schema, root),
    );
    return fitting.flatMap(({ references }) => references);
  }

  #add(info: VariableInfo, { isHidden, showsKeys }: Shown): void {
    const { name, type, visibility } = info;
    if (type === "bytes") return;
    const secret = visibility === "secret" ? name : undefined;
    const add = (shape: Shape, path: Path) => {
      const key = JSON.stringify([shape, secret]);
      const group = this.#groups.get(key) ?? { shape, secret, references: [] };
      this.#groups.set(key, group);
      group.references.push({ name, text: this.write(`${name}${formatPath(path)}`) });
    };
    const guarded = guardedView(info);
    if (guarded !== undefined || isHidden) {
      // The type of a derived value must not reach the model.
      const isTold = guarded === undefined || guarded.type !== undefined;
      return add(isTold ? [kindOf(type)] : [], []);
    }
    const shape = parseShape(info.shape);
    const known = shape.length === 0 ? [kindOf(type)] : shape;
    const place = { showsKeys, depth: 0, isShared: false };
    for (const [path, inner] of pathsIn(known, place)) add(inner, path);
  }
}

/**
 * Returns the references that a model may write now. Undefined: any, because they are not limited, or because
 * the model writes a syntax of the application only.
 */
export function liveReferences(options: WrapOptions): LiveReferences | undefined {
  const write = options.references === "strict" ? writerIn(options.syntaxes) : undefined;
  return write && new NewestVariables(write, options);
}

interface Shown {
  readonly isHidden: boolean;
  readonly showsKeys: boolean;
}

/** A kind of which nothing else is known. */
function kindOf(type: Exclude<VariableInfo["type"], "bytes">): Kind {
  if (type === "array") return { elements: [] };
  return type === "object" ? { keys: [], isOpen: true } : type;
}

interface Place {
  readonly showsKeys: boolean;
  readonly depth: number;
  /** True inside of an element: the shape is that of all of them, and one may lack what another has. */
  readonly isShared: boolean;
}

type Found = readonly [path: Path, shape: Shape];

/** Segments of the longest path that is offered. */
const MAX_DEPTH = 3;

/** The paths that exist in every value of the shape, if it is of one kind. */
function pathsIn(shape: Shape, place: Place): readonly Found[] {
  const [kind, ...others] = shape;
  const whole: Found = [[], shape];
  if (kind === undefined || typeof kind === "string" || others.length > 0) return [whole];
  if (place.depth >= MAX_DEPTH) return [whole];
  return [whole, ...("keys" in kind ? inKeys(kind.keys, place) : inElements(kind.elements, place))];
}

function inKeys(keys: readonly ShapeKey[], place: Place): readonly Found[] {
  return keys
    .filter(({ key, isOptional }) => place.showsKeys && !isOptional && isOffered(key))
    .flatMap(({ key, shape }) =>
      pathsIn(shape, { ...place, depth: place.depth + 1 }).map(([path, inner]): Found => [
        [{ key }, ...path],
        inner,
      ]),
    );
}

/** The first element, the start, and of records each column. */
function inElements(elements: Shape, place: Place): readonly Found[] {
  // Nothing is known of the elements of an empty array.
  if (elements.length === 0) return [];
  const start: Found = [[{ to: 10 }], [{ elements }]];
  const inside = { ...place, depth: place.depth + 1, isShared: true };
  const first = (place.isShared ? [] : pathsIn(elements, inside)).map(([path, shape]): Found => [
    [{ index: 0 }, ...path],
    shape,
  ]);
  return [...first, start, ...columnsIn(elements, place)];
}

/** Elements without the key are left out of a column. */
function columnsIn([kind, ...others]: Shape, { showsKeys, isShared }: Place): readonly Found[] {
  if (others.length > 0 || typeof kind !== "object" || !("keys" in kind) || !showsKeys) return [];
  return kind.keys
    .filter(({ key, isOptional }) => isOffered(key) && !(isShared && isOptional))
    .map(({ key, shape }): Found => [[{ each: true }, { key }], [{ elements: shape }]]);
}

/** Other keys have to be quoted, and may be any text. */
function isOffered(key: string): boolean {
  return isPlainKey(key) && key.length <= limits.maxNameChars;
}

/** True if values of the shape have the types that the schema requires. Unknown types fit. */
function fits(shape: Shape, schema: Definition, root: JSONSchema7): boolean {
  return shape.every((kind) =>
    foldSchema<boolean>(schema, root, {
      own: (one) => fitsOwn(kind, one, root),
      all: (results) => results.every(Boolean),
      any: (results) => results.some(Boolean),
    }),
  );
}

/** Compares with a schema's own keywords. */
function fitsOwn(kind: Kind, schema: Definition, root: JSONSchema7): boolean {
  const types = ownTypes(schema);
  // The shape of an integer is that of a number.
  if (kind === "number") return types.has("number") || types.has("integer");
  if (typeof kind === "string") return types.has(kind);
  const at = (key: string | number) => ownSchemaAt(key, schema);
  if ("elements" in kind) return types.has("array") && fits(kind.elements, at(0), root);
  const { keys, isOpen } = kind;
  const { required = [] } = typeof schema === "boolean" ? {} : schema;
  const isThere = (name: string) => keys.some(({ key, isOptional }) => key === name && !isOptional);
  return (
    types.has("object") &&
    (isOpen || required.every(isThere)) &&
    keys.every(({ key, shape }) => fits(shape, at(key), root))
  );
}
