import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { z } from "../../src/no-zod-languages.ts";
import { codeOf } from "../../src/errors.ts";

const leftOut = new Set(["locales", "core", "z", "compile", "withParser"]);

it.each([
  ["compile", z.compile],
  ["withParser", z.withParser],
])("the z of the deployable Worker fails with bad_configuration for %s", (_name, call) => {
  let code: unknown;
  try {
    call();
  } catch (error) {
    code = codeOf(error);
  }
  expect(code).toBe("bad_configuration");
});

it.each(["@ai-sdk/anthropic/internal", "@ai-sdk/openai/internal", "@ai-sdk/openai-compatible"])(
  "the z of providers in the deployable Worker has everything that %s uses",
  (library) => {
    const file = createRequire(import.meta.url).resolve(library);
    const uses = readFileSync(file, "utf8").matchAll(/\bz4?\.(\w+)/g);
    const taken = [...uses].map(([, name = ""]) => name);
    expect(taken).toContain("string");
    expect(taken.filter((name) => leftOut.has(name) || !Object.hasOwn(z, name))).toEqual([]);
  },
);
