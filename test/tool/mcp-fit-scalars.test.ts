import { describe, expect, it } from "vitest";
import { fitScalars } from "../../packages/mcp/src/fit-scalars.ts";
import { parseExactly } from "../../src/value/exact-number.ts";

const DIGITS = "1234567890123456789";

/** Each schema of a parameter, what is given, and what the server gets: JSON texts. */
const CASES: readonly (readonly [schema: object, given: string, got: string])[] = [
  [{ type: "string" }, "42", '"42"'],
  [{ type: "string" }, "1.5", '"1.5"'],
  [{ type: "string" }, DIGITS, `"${DIGITS}"`],
  [{ type: "string" }, "true", '"true"'],
  [{ type: "string" }, "null", "null"],
  [{ type: "string" }, "[1]", "[1]"],
  [{ type: ["string", "null"] }, "42", '"42"'],
  [{ type: ["string", "integer"] }, "42", "42"],
  [{ type: "integer" }, '"42"', "42"],
  [{ type: "integer" }, `"${DIGITS}"`, DIGITS],
  [{ type: "integer" }, '"-0"', '"-0"'],
  [{ type: "integer" }, '"007"', '"007"'],
  [{ type: "integer" }, '"1.0"', '"1.0"'],
  [{ type: "integer" }, '" 42"', '" 42"'],
  [{ type: "integer" }, '"٤٢"', '"٤٢"'],
  [{ type: "number" }, '"1.5"', "1.5"],
  [{ type: "number" }, '"1.50"', '"1.50"'],
  [{ type: "number" }, '"1e3"', '"1e3"'],
  [{ type: "number" }, '"Infinity"', '"Infinity"'],
  [{ type: "number" }, '""', '""'],
  [{ type: "number" }, "true", "true"],
  [{ type: "boolean" }, '"true"', "true"],
  [{ type: "boolean" }, '"false"', "false"],
  [{ type: "boolean" }, '"yes"', '"yes"'],
  [{ type: "boolean" }, "1", "1"],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, '"42"', "42"],
  [{ anyOf: [{ type: "integer" }, { type: "boolean" }] }, '"42"', '"42"'],
  [{ allOf: [{ type: "string" }, { maxLength: 5 }] }, "42", '"42"'],
  [{ $ref: "#/$defs/id" }, "42", '"42"'],
  [{ enum: ["1", "2"] }, "1", '"1"'],
  [{ const: 2 }, '"2"', "2"],
  [{}, '"42"', '"42"'],
  [{ type: "array", items: { type: "string" } }, '[1,"2",null]', '["1","2",null]'],
  [
    { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } },
    '[1,"2"]',
    '["1",2]',
  ],
  [
    {
      type: "object",
      properties: { a: { type: "integer" } },
      additionalProperties: { type: "string" },
    },
    '{"a":"1","b":2,"__proto__":3}',
    '{"a":1,"b":"2","__proto__":"3"}',
  ],
];

describe("scalars in the inputs of MCP tools", () => {
  it.each(CASES)("%j takes %s as %s", (schema, given, got) => {
    const root = { type: "object", properties: { p: schema }, $defs: { id: { type: "string" } } };
    const input = parseExactly(`{"p":${given}}`);
    const fitted = fitScalars(input, root as Parameters<typeof fitScalars>[1]);
    expect(JSON.stringify(fitted)).toBe(`{"p":${got}}`);
    if (given === got) expect(fitted).toBe(input);
  });

  it("looks a schema up once for all elements of a list", () => {
    let lookups = 0;
    const row = new Proxy<Record<string, unknown>>(
      { type: "object", properties: { id: { type: "string" } } },
      {
        get: (target, key) => {
          lookups++;
          return Reflect.get(target, key) as unknown;
        },
      },
    );
    const schema = { type: "object", properties: { rows: { type: "array", items: row } } } as never;
    const rows = Array.from({ length: 1_000 }, (_, id) => ({ id }));
    const fitted = fitScalars({ rows }, schema) as { rows: { id: unknown }[] };
    expect(fitted.rows.at(-1)).toEqual({ id: "999" });
    const before = lookups;
    fitScalars({ rows: [...rows, ...rows] }, schema);
    expect(lookups - before).toBeLessThan(before + 100);
  });
});
