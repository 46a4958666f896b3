import { asSchema } from "ai";
import { Ajv, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { widenSchema } from "../../src/tool/widen-schema.ts";
import { typicalTools } from "./typical-tools.ts";

/** What a widened schema may be longer than the original, all typical tools together. */
const MAX_GROWTH = 0.3;

const options: Options = {
  strict: true,
  // What widening is about: a value of its own type, or a reference.
  allowUnionTypes: true,
  formats: { "date-time": true, email: true, uri: true, uuid: true },
};

/** The validator of the draft that the schema names; draft 7 if it names none. */
function validatorFor({ $schema = "" }: { readonly $schema?: string }) {
  return $schema.includes("2020-12") ? new Ajv2020(options) : new Ajv(options);
}

async function schemasOf(name: string) {
  const original = await asSchema(typicalTools[name]?.inputSchema).jsonSchema;
  return { original, widened: widenSchema(original) };
}

const names = Object.keys(typicalTools);

it("are twenty", () => {
  expect(names).toHaveLength(20);
});

describe.each(names)("the schema of %s, widened,", (name) => {
  it("is as it was seen to be good", async () => {
    const { widened } = await schemasOf(name);
    expect(widened).toMatchSnapshot();
  });

  it("is a schema by ajv's strict mode, as the original is", async () => {
    const { original, widened } = await schemasOf(name);
    for (const schema of [original, widened]) {
      expect(() => validatorFor(schema).compile(schema)).not.toThrow();
    }
  });

  it("takes a reference for each parameter", async () => {
    const { widened } = await schemasOf(name);
    const input = Object.fromEntries(
      Object.keys(widened.properties ?? {}).map((key) => [key, "$x"]),
    );
    const validate = validatorFor(widened).compile(widened);
    expect([validate(input), validate.errors]).toEqual([true, null]);
  });
});

it("grow by less than three tenths of their length together", async () => {
  const rows = await Promise.all(
    names.map(async (name) => {
      const { original, widened } = await schemasOf(name);
      return {
        name,
        before: JSON.stringify(original).length,
        after: JSON.stringify(widened).length,
      };
    }),
  );
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
