import { asSchema } from "ai";
import { it } from "vitest";
import { z } from "zod";
import { widenSchema } from "../../src/tool/widen-schema.ts";
const node: any = z.object({
  name: z.string().min(1),
  get children() {
    return z.array(node).optional();
  },
});
const lazy: any = z.lazy(() => z.object({ n: z.number(), next: lazy.optional() }));
it("x", async () => {
  for (const s of [
    z.object({ t: z.tuple([z.string(), z.number()]).rest(z.number()) }),
    node,
    lazy,
    z.object({ root: node, other: node, l: lazy }),
    z.object({
      r: z.record(z.string(), z.number()),
      e: z.partialRecord(z.enum(["a", "b"]), z.number()),
      p: z.record(z.string().regex(/^a/), z.number()),
    }),
    z.object({ i: z.intersection(z.object({ a: z.number() }), z.object({ b: z.number() })) }),
    z.object({
      u: z.discriminatedUnion("k", [
        z.object({ k: z.literal("a"), n: z.number() }),
        z.object({ k: z.literal("b"), s: z.string() }),
      ]),
      v: z.union([z.string(), z.number()]),
      n: z.number().nullable(),
      d: z.number().default(3).describe("D"),
      em: z.email(),
      url: z.url(),
      iso: z.iso.datetime(),
      uuid: z.uuid(),
      int: z.int().min(3),
      l: z.literal(["a", "b"]),
      bigu: z.literal(5),
      any: z.any(),
      unk: z.unknown(),
      nev: z.never().optional(),
      tl: z.templateLiteral(["a", z.number()]),
      st: z.strictObject({ a: z.number() }),
      lo: z.looseObject({ a: z.number() }),
      b: z.boolean(),
      so: z.string().startsWith("a"),
      x: z.xor([z.object({ a: z.number() }), z.object({ b: z.number() })]),
      coerce: z.coerce.number(),
      tr: z.string().transform(Number),
      nn: z.string().nullable(),
      sb: z.stringbool(),
    }),
  ]) {
    const j = await asSchema(s).jsonSchema;
    console.log(JSON.stringify(j), "\n=>", JSON.stringify(widenSchema(j)));
  }
  console.log(
    JSON.stringify(
      widenSchema({
        type: "object",
        properties: {
          a: { type: "string", not: { const: "x" } },
          b: { type: "number", not: { type: "string" } },
          c: { type: ["string", "null"], minLength: 2 },
          d: { type: "array", items: { type: "number" }, contains: { type: "number" } },
        },
      } as any),
    ),
  );
});
