import type { JSONSchema7 } from "ai";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { LookupWork } from "../../src/reference/lookup.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { Taint } from "../../src/store/labels.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { liveReferences } from "../../src/tool/live-references.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { widenSchema } from "../../src/tool/widen-schema.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { validator } from "../support/json-schema.ts";
import { sampled, samples } from "../support/slow.ts";

const ROWS = [
  { id: 1, name: "a", lines: [{ sku: "x" }] },
  { id: 2, name: "b", lines: [], note: "late" },
];

async function storeWith(...writes: readonly Write[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const write of writes) await store.save(write);
  return store;
}

async function widenedWith(
  schema: JSONSchema7,
  store: MemoryStore,
  { secrets, ...more }: Partial<WrapOptions> & { readonly secrets?: readonly string[] } = {},
): Promise<JSONSchema7> {
  const live = liveReferences({ store, references: "strict", ...more });
  return widenSchema(schema, { live, secrets });
}

function object(properties: Record<string, JSONSchema7>): JSONSchema7 {
  return { type: "object", properties };
}

/** Returns the references that a parameter with this schema accepts. */
async function acceptedBy(
  it: JSONSchema7,
  store: MemoryStore,
  more?: Parameters<typeof widenedWith>[2],
): Promise<readonly string[]> {
  const widened = await widenedWith(object({ it }), store, more);
  const property = widened.properties?.["it"] as JSONSchema7;
  const alternatives = [property, ...((property.anyOf ?? []) as JSONSchema7[])];
  return alternatives.flatMap((one) => (one.enum ?? []) as string[]);
}

describe("a parameter with strict references", () => {
  it.each<[string, JSONSchema7, readonly string[]]>([
    ["a number", { type: "number" }, ["$total", "$rows[0].id"]],
    ["a text with a format", { type: "string", format: "email" }, ["$rows[0].name"]],
    ["an array", { type: "array" }, arrays()],
    ["numbers", { type: "array", items: { type: "number" } }, ["$rows[*].id"]],
    [
      "records",
      { type: "array", items: { type: "object", required: ["id", "name"] } },
      ["$rows", "$rows[:10]"],
    ],
    ["records with an optional key", recordsWith("note"), []],
    ["an object with a number", object({ id: { type: "number" } }), ["$rows[0]"]],
    ["an object with a text", object({ id: { type: "string" } }), []],
    ["true or false", { type: "boolean" }, []],
  ])("accepts the references to %s", async (_, schema, expected) => {
    const store = await storeWith({ name: "rows", value: ROWS }, { name: "total", value: 3 });
    expect([...(await acceptedBy(schema, store))].sort()).toEqual([...expected].sort());
  });

  it("still accepts its own values, and no other text", async () => {
    const store = await storeWith({ name: "rows", value: ROWS }, { name: "total", value: 3 });
    const fits = validator(await widenedWith(object({ it: { type: "number" } }), store));
    expect([7, "$total", "$rows[0].id"].map((one) => fits({ it: one }))).toEqual([
      true,
      true,
      true,
    ]);
    for (const wrong of ["$totals", "$rows", "$rows[*].id", "total", "7", "", "$total.x"]) {
      expect(fits({ it: wrong })).toBe(false);
    }
  });

  it("is unchanged if no reference fits, or if any text does", async () => {
    const schema = object({ number: { type: "number" }, text: { type: "string" }, any: {} });
    expect(await widenedWith(schema, new MemoryStore())).toEqual(schema);
    const store = await storeWith({ name: "flag", value: true });
    expect(await widenedWith(schema, store)).toEqual(schema);
  });

  it("uses the agent's syntax", async () => {
    const store = await storeWith({ name: "total", value: 3 });
    const more = { syntaxes: ["mustache"] } as const;
    expect(await acceptedBy({ type: "number" }, store, more)).toEqual(["{{total}}"]);
  });

  it("defines once what several places share", async () => {
    const store = await storeWith({ name: "rows", value: ROWS }, { name: "total", value: 3 });
    const number = { type: "number" } as const;
    const schema = { ...object({ a: number, b: number, c: number }), $defs: { references: {} } };
    const widened = await widenedWith(schema, store);
    expect(JSON.stringify(widened).split("$rows[0].id")).toHaveLength(2);
    const fits = validator(widened);
    expect(fits({ a: "$total", b: 1, c: "$rows[0].id" })).toBe(true);
    expect(fits({ a: "$total", b: 1, c: "$rows" })).toBe(false);
  });

  it("keeps the targets of pointers into the schema", async () => {
    const store = await storeWith({ name: "rows", value: ROWS });
    const from = object({ id: { type: "number" } });
    const schema = object({
      a: from,
      b: { $ref: "#/properties/a/properties/id" },
      c: { $ref: "#/properties/a" },
    });
    const fits = validator(await widenedWith(schema, store));
    expect(fits({ a: "$rows[0]", b: "$rows[0].id", c: { id: 1 } })).toBe(true);
    expect(fits({ a: "$rows[0].id" })).toBe(false);
    expect(fits({ b: "$rows[0]" })).toBe(false);
    expect(fits({ a: { id: "$rows" } })).toBe(false);
    expect(fits({ c: { id: "$rows[0].id" } })).toBe(true);
  });
});

function arrays() {
  const columns = ["id", "name", "lines", "note"].map((key) => `$rows[*].${key}`);
  const lines = ["", "[:10]", "[*].sku"].map((path) => `$rows[0].lines${path}`);
  return ["$rows", "$rows[:10]", ...columns, ...lines];
}

function recordsWith(key: string): JSONSchema7 {
  return { type: "array", items: { type: "object", required: [key] } };
}

describe("many references", () => {
  const count = limits.maxReferenceAlternatives + 1;
  const number = object({ it: { type: "number" } });
  const numbers = (many: number) =>
    storeWith(
      ...Array.from({ length: many }, (_, index) => ({ name: `n_${index}`, value: index })),
    );

  it("are listed up to the limit", async () => {
    const texts = await acceptedBy({ type: "number" }, await numbers(count - 1));
    expect(texts).toHaveLength(limits.maxReferenceAlternatives);
  });

  it("become a pattern beyond the limit, which accepts only their names", async () => {
    const widened = await widenedWith(number, await numbers(count));
    expect(JSON.stringify(widened)).not.toContain("enum");
    const fits = validator(widened);
    for (let index = 0; index < count; index++) expect(fits({ it: `$n_${index}` })).toBe(true);
    expect(fits({ it: "$n_0.a[0]['b c'][*]" })).toBe(true);
    for (const wrong of [`$n_${count}`, "$n_", "$n_1x", "n_1", "$n_1 $n_2", "x$n_1", "$n_1\n"]) {
      expect(fits({ it: wrong })).toBe(false);
    }
  });

  it("of very many variables are limited to the newest", async () => {
    const store = await numbers(2 * limits.maxOfferedVariables);
    const widened = await widenedWith(number, store);
    const grown = JSON.stringify(widened).length - JSON.stringify(number).length;
    expect(grown).toBeLessThan(limits.maxWidenedChars);
    const fits = validator(widened);
    expect(fits({ it: `$n_${2 * limits.maxOfferedVariables - 1}` })).toBe(true);
    expect(fits({ it: "$n_0" })).toBe(false);
  });
});

describe("a guarded variable", () => {
  const sealed: Write = { name: "sealed", value: ROWS, visibility: "sealed" };
  const number: JSONSchema7 = { type: "number" };
  const array: JSONSchema7 = { type: "array", items: number };

  it("is offered by name only, if the type in its handle fits", async () => {
    const store = await storeWith(sealed);
    expect(await acceptedBy(array, store)).toEqual(["$sealed"]);
    expect(await acceptedBy(number, store)).toEqual([]);
  });

  it("is offered by name for any type if it is derived", async () => {
    const derived = { visibility: "sealed", flags: ["derived"] } as const;
    const one = await storeWith({ name: "sealed", value: 1, ...derived });
    const other = await storeWith({ name: "sealed", value: ["x"], ...derived });
    for (const schema of [number, array, object({})]) {
      for (const store of [one, other]) {
        expect(await acceptedBy(schema, store)).toEqual(["$sealed"]);
      }
    }
  });

  it("is offered by name only to tools that list it if it is secret", async () => {
    const store = await storeWith({ name: "key", value: 7, visibility: "secret" });
    expect(await acceptedBy(number, store)).toEqual([]);
    expect(await acceptedBy(number, store, { secrets: ["other"] })).toEqual([]);
    expect(await acceptedBy(number, store, { secrets: ["key"] })).toEqual(["$key"]);
    expect(await acceptedBy(array, store, { secrets: ["key"] })).toEqual(["$key"]);
  });

  it("is offered by name only if the agent hides it", async () => {
    const store = await storeWith({ name: "page", value: { obey: 1, n: [1] }, trusted: false });
    const hide = { untrusted: "hide", taint: new Taint(true) } as const;
    expect(await acceptedBy(number, store, hide)).toEqual([]);
    expect(await acceptedBy(object({}), store, hide)).toEqual(["$page"]);
  });

  it("is offered without keys if it is untrusted, until the model is tainted", async () => {
    const store = await storeWith({ name: "page", value: [{ obey: 1 }], trusted: false });
    expect(await acceptedBy(object({}), store)).toEqual(["$page[0]"]);
    expect(await acceptedBy(number, store)).toEqual([]);
    const taint = new Taint(true);
    expect(await acceptedBy(number, store, { taint })).toEqual(["$page[0].obey"]);
  });
});

/** Schemas that consist of types only. */
const schemas: fc.Arbitrary<JSONSchema7> = fc.letrec((tie) => ({
  one: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("number", "boolean", "null").map((type) => ({ type })),
    fc.constant({ type: "string", format: "email" }),
    tie("one").map((items) => ({ type: "array", items })),
    fc
      .dictionary(fc.constantFrom("a", "b", "c"), tie("one"), { maxKeys: 3 })
      .chain((properties) =>
        fc
          .subarray(Object.keys(properties))
          .map((required) => ({ type: "object", properties, required })),
      ),
    fc.tuple(tie("one"), tie("one")).map((anyOf) => ({ anyOf })),
  ),
})).one as fc.Arbitrary<JSONSchema7>;

const values: fc.Arbitrary<Json> = fc.letrec((tie) => ({
  one: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(1, true, null, "a@example.com"),
    fc.array(tie("one"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "a b"), tie("one"), { maxKeys: 3 }),
  ),
})).one as fc.Arbitrary<Json>;

describe("any schema with any variables", () => {
  it("accepts only values of the type and references to them", sampled, async () => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(schemas, { minLength: 1, maxLength: 3 }),
        fc.array(values, { minLength: 1, maxLength: 3 }),
        async (parts, given) => {
          const named = given.map((value, index) => ({ name: `v_${index}`, value }));
          const store = await storeWith(...named);
          const live = liveReferences({ store, references: "strict" });
          const schema = object(Object.fromEntries(parts.map((one, at) => [`p${at}`, one])));
          const fits = validator(widenSchema(schema, { live }));
          const any = { reference: {} };
          const { enum: all = [] } = live?.slots(schema, any).for({})?.schema ?? {};
          const found = new Map<string, Json>();
          for (const text of all.map(String)) found.set(text, await valueOf(text, store));
          for (const [at, part] of parts.entries()) {
            const fitsPart = validator(part);
            for (const [text, value] of found) {
              const isAccepted = fits({ [`p${at}`]: text });
              if (isAccepted) expect([text, fitsPart(value)]).toEqual([text, true]);
              const isWhole = named.some(({ name }) => `$${name}` === text);
              if (isWhole) expect([text, isAccepted]).toEqual([text, fitsPart(value)]);
              if (isAccepted) accepted++;
              else refused++;
            }
            for (const value of given) {
              if (fitsPart(value)) expect(fits({ [`p${at}`]: value })).toBe(true);
            }
            expect(fits({ [`p${at}`]: "$unknown" })).toBe(false);
          }
        },
      ),
      { numRuns: samples(50) },
    );
    expect(accepted).toBeGreaterThan(samples(50) / 2);
    expect(refused).toBeGreaterThan(samples(50) * 2);
  });
});

/** Returns the value of a reference as a tool receives it. */
async function valueOf(text: string, store: MemoryStore): Promise<Json> {
  const { value, unresolved } = await resolveReferences(text, lookupInStore(store), {
    work: new LookupWork(),
  });
  expect(unresolved).toEqual([]);
  return value;
}
