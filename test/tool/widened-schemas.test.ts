import { asSchema, type JSONSchema7 } from "ai";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { widenSchema } from "../../src/tool/widen-schema.ts";
import { isJsonArray, isJsonObject, type Json } from "../../src/value/json.ts";
import { validator, valuesOf } from "../support/json-schema.ts";
import { typicalTools } from "./typical-tools.ts";

/** Maximum growth of the schemas of all typical tools together, as a share of the original length. */
const MAX_GROWTH = 0.3;
const RUNS = { numRuns: 40 };
/** Values that replace a part; undefined removes it. */
const FOREIGN = [undefined, true, 0, -1.5, 1e9, null, [], {}, [[]], [{}], { z: {} }];

interface Tree {
  readonly name: string;
  readonly size: number;
  readonly children: readonly Tree[];
}

const tree: z.ZodType<Tree> = z.object({
  name: z.string().min(1),
  size: z.number(),
  get children() {
    return z.array(tree);
  },
});

/** Schemas that zod can write and the typical tools do not use. */
const rare = {
  form: z.object({
    person: z.strictObject({ name: z.string(), age: z.number().nullable() }),
    more: z.looseObject({ a: z.number() }),
    both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.number() })),
    version: z.literal(2),
  }),
  recursive: tree,
  coerced: z.object({
    count: z.coerce.number(),
    when: z.string().transform((text) => text.length),
    any: z.any(),
    either: z.xor([z.object({ a: z.number() }), z.object({ b: z.boolean() })]),
  }),
};

async function widened(name: string, inputSchema: Parameters<typeof asSchema>[0]) {
  const original = await asSchema(inputSchema).jsonSchema;
  const before = JSON.stringify(original);
  const schema = widenSchema(original);
  return { name, before, original, schema };
}

const typical = await Promise.all(
  Object.entries(typicalTools).map(([name, { inputSchema }]) => widened(name, inputSchema)),
);
const others = await Promise.all(Object.entries(rare).map(([name, one]) => widened(name, one)));

it("there are twenty typical tools", () => {
  expect(typical).toHaveLength(20);
});

type Key = string | number;
/** Path of a part of a value. The path of the value itself is empty. */
type Path = readonly Key[];

function* pathsIn(value: Json, path: Path = []): Generator<Path> {
  yield path;
  if (isJsonArray(value)) {
    for (const [index, element] of value.entries()) yield* pathsIn(element, [...path, index]);
  } else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) yield* pathsIn(inner, [...path, key]);
  }
}

/** Replaces the part at the path, or removes it, if no outer part has been replaced before. */
function withAt(value: Json, [key, ...path]: Path, part: Json | undefined): Json {
  if (key === undefined) return part ?? null;
  if (isJsonArray(value)) {
    return value.map((one, index) => (index === key ? withAt(one, path, part) : one));
  }
  if (!isJsonObject(value)) return value;
  const { [key]: inner = null, ...others } = value;
  if (part === undefined && path.length === 0) return others;
  return { ...others, [key]: withAt(inner, path, part) };
}

/** False for elements of `prefixItems`, which only `maps_route` has and which take no references. */
function isWidened([first, second]: Path): boolean {
  return first !== "from" || second === undefined;
}

/** Generates an input and the paths of some of its parts, without the input itself. */
function inputWithPaths(schema: JSONSchema7) {
  return valuesOf(schema).chain((input) =>
    fc.record({
      input: fc.constant(input),
      paths: fc.shuffledSubarray([...pathsIn(input)].slice(1).filter(isWidened)),
    }),
  );
}

/** Returns the annotations of a schema, which are for readers. */
function annotationsOf(schema: unknown): readonly unknown[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, inner]) =>
    ["$schema", "default", "description", "title"].includes(key) && typeof inner !== "object"
      ? [`${key}: ${JSON.stringify(inner)}`]
      : annotationsOf(inner),
  );
}

describe.each([...typical, ...others])(
  "the schema of $name, widened,",
  ({ before, original, schema }) => {
    const fitsOriginal = validator(original);
    const fits = validator(schema);

    it("accepts what the original accepts, with references in place of any parts", () => {
      const all = inputWithPaths(original);
      fc.assert(
        fc.property(all, ({ input, paths }) => {
          const references = paths.map((path, index) => [path, `$x${index}`] as const);
          const mixed = references.reduce(
            (value, [path, name]) => withAt(value, path, name),
            input,
          );
          return fits(input) && fits(mixed);
        }),
        RUNS,
      );
    });

    it("accepts nothing else", () => {
      const all = inputWithPaths(original);
      fc.assert(
        fc.property(
          all,
          fc.constantFrom(...FOREIGN),
          fc.boolean(),
          ({ input, paths }, part, isAdded) => {
            const [path = []] = paths;
            const changed = withAt(input, isAdded ? [...path, "unknown"] : path, part);
            expect(fits(changed)).toBe(fitsOriginal(changed));
          },
        ),
        RUNS,
      );
      for (const input of ["$x", null, [], 1]) expect(fits(input)).toBe(fitsOriginal(input));
    });

    it("leaves the original unchanged", () => {
      expect(JSON.stringify(original)).toBe(before);
    });

    it("keeps the original's annotations, and only adds where a reference is accepted", () => {
      const said = annotationsOf(schema).filter((one) => one !== 'description: "or a $reference"');
      expect(said.toSorted()).toEqual(annotationsOf(original).toSorted());
    });
  },
);

it("typical schemas grow by less than three tenths in total", () => {
  const rows = typical.map(({ name, before, schema }) => ({
    name,
    before: before.length,
    after: JSON.stringify(schema).length,
  }));
  const before = rows.reduce((sum, row) => sum + row.before, 0);
  const after = rows.reduce((sum, row) => sum + row.after, 0);
  console.table(
    [...rows, { name: "all", before, after }].map((row) => ({
      ...row,
      growth: `${Math.round((row.after / row.before - 1) * 100)} %`,
    })),
  );
  expect(after / before - 1).toBeLessThan(MAX_GROWTH);
});
