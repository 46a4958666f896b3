import type { Context } from "hono";
import type { AppEnv } from "../../../src/edge/app-env.ts";
import { conversationOf } from "../../../src/edge/conversation-of.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** Returns the name of the object that holds a tenant's conversation. */
function nameOf(tenant: string, id: string): string {
  const names: string[] = [];
  const CONVERSATIONS = { idFromName: (name: string) => names.push(name), get: () => undefined };
  // All that `conversationOf` may use of a request: the tenant, the bindings and the requested location.
  const given = {
    get: () => ({ tenant }),
    env: { CONVERSATIONS },
    req: { query: () => undefined },
  };
  const context = given as unknown as Context<AppEnv>;
  conversationOf(context, id);
  const [name] = names;
  if (name === undefined || names.length > 1) throw new Error(`It has ${names.length} names.`);
  return name;
}

/** Separators, and characters that look like others. */
const SPECIAL = ['"', ",", '","', "/", ":", "|", "\\", "\\u0000", "\0", "\n", "[", "]", "local"];
const CONFUSABLE = ["a", "а", "ａ", "é", "e\u0301", "K", "\u212A", "ß", "ss", "\u200B", "\uFEFF"];
const SURROGATES = ["\ud800", "\udc00", "\ufffd", "😀"];

const tenants = fc.oneof(
  fc.array(fc.constantFrom("", ...SPECIAL, ...CONFUSABLE, ...SURROGATES), { maxLength: 4 }),
  fc.array(fc.string({ unit: "binary" }), { maxLength: 2 }),
);
const tenant = tenants.map((pieces) => pieces.join(""));
const idCharacter = fc.constantFrom(..."aAzZ019._-");
const id = fc
  .string({ unit: idCharacter, minLength: 1, maxLength: 4 })
  .filter((text) => text !== "." && text !== "..");

describe("object names", () => {
  it("are unique for each pair of tenant and id", () => {
    const pair = fc.tuple(tenant, id);
    const property = fc.property(pair, pair, (one, other) => {
      const isSame = one[0] === other[0] && one[1] === other[1];
      expect(nameOf(...one) === nameOf(...other)).toBe(isSame);
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  it("are made for valid ids only", () => {
    const any = fc.oneof(
      fc.string({ unit: "binary" }),
      tenant,
      id,
      fc.string({ unit: idCharacter }),
      fc.constantFrom(128, 129, 100_000).map((length) => "x".repeat(length)),
    );
    const property = fc.property(tenant, any, (tenant, id) => {
      const isValid = /^[\w.-]{1,128}$/.test(id) && !/^\.{1,2}$/.test(id) && !id.includes("\n");
      if (isValid) expect(JSON.parse(nameOf(tenant, id))).toEqual([tenant, id]);
      else
        expect(() => nameOf(tenant, id)).toThrow(expect.objectContaining({ code: "bad_request" }));
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});
