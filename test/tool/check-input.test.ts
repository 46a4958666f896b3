import { jsonSchema } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkInput, issuesOf } from "../../src/tool/tool-input.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { deepFreeze, type Json } from "../../src/value/json.ts";

type Schema = AnyTool["inputSchema"];
type Options = Parameters<typeof checkInput>[2];

const plain: Options = { unresolved: [], readonly: false };
const check = (inputSchema: Schema, input: Json, options: Partial<Options> = {}) =>
  checkInput({ inputSchema }, input, { ...plain, ...options });

/** A schema that refuses every input with this error. */
const refusing = (error: unknown): Schema =>
  jsonSchema({}, { validate: () => ({ success: false, error: error as Error }) });

async function messageOf(inputSchema: Schema, options: Partial<Options> = {}): Promise<string> {
  const error: unknown = await check(inputSchema, {}, options).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "invalid_tool_input" });
  return (error as Error).message;
}

describe("an input that does not fit", () => {
  it("is refused with what else may help", async () => {
    const unresolved = [
      { reference: "$x", code: "variable_not_found" as const, message: "$x is not a variable." },
      { reference: "$y", code: "path_not_found" as const },
    ];
    const issue = { path: [], message: "No" };
    const message = await messageOf(refusing([issue]), { unresolved, hint: () => " Try $z." });
    expect(message).toBe("The input does not fit the tool: No. $x is not a variable.  Try $z.");
    const error: unknown = await check(refusing([issue]), {}, { unresolved }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ details: { unresolved } });
  });

  it.each<[string, unknown, string]>([
    ["a list of issues", [{ path: ["a", 0], message: "No" }], "a.0: No."],
    ["an error with issues", { issues: [{ path: [], message: "No" }] }, "No."],
    ["an error whose cause has issues", { cause: { issues: [{ message: "No" }] } }, "No."],
    ["keys of Standard Schema", [{ path: [{ key: "a" }, "b"], message: "No" }], "a.b: No."],
    ["issues without a message", [{ path: ["a"] }, null, { message: 5 }], "its schema refuses it."],
    ["an error without issues", new Error("my value"), "its schema refuses it."],
    ["no error", undefined, "its schema refuses it."],
  ])("is refused by any validator: %s", async (_, error, said) => {
    expect(await messageOf(refusing(error))).toBe(`The input does not fit the tool: ${said}`);
  });

  it("is refused with ten issues of limited length", () => {
    const issues = Array.from({ length: 12 }, (_, at) => ({
      path: [at],
      message: "m".repeat(201),
    }));
    const listed = issuesOf(issues);
    expect(listed).toHaveLength(10);
    expect(listed.at(-1)).toEqual({ path: ["9"], message: "m".repeat(200) });
  });
});

describe("an input that fits", () => {
  const frozen = deepFreeze<Json>({ list: [{ a: 1 }], text: "t" });

  it("is copied inside of what the schema has made", async () => {
    const shared = (frozen as { list: Json }).list;
    const schema = z.looseObject({ own: z.array(z.any()) });
    const checked = (await check(schema, { own: [shared], more: shared })) as {
      own: object[];
      more: object;
    };
    expect(checked).toEqual({ own: [shared], more: shared });
    expect([Object.isFrozen(checked.own[0]), Object.isFrozen(checked.more)]).toEqual([
      false,
      false,
    ]);
  });

  it("keeps what is no plain object", async () => {
    const date = Object.freeze(new Date(0));
    const map = new Map([["a", frozen]]);
    const schema = z.any().transform(() => ({ date, map, none: null }));
    const checked = (await check(schema, {})) as { date: Date; map: unknown };
    expect(checked.date).toBe(date);
    expect(checked.map).toBe(map);
    expect(map.get("a")).toBe(frozen);
  });

  it("may have a key __proto__", async () => {
    const input = deepFreeze(JSON.parse('{"a":{"__proto__":{"b":1}}}') as Json);
    const checked = await check(jsonSchema({}), input);
    expect(JSON.stringify(checked)).toBe('{"a":{"__proto__":{"b":1}}}');
  });
});
