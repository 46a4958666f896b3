import { ByrefError } from "../../errors.ts";

/** All of zod but for what `no-zod-languages.ts` says. */
export * from "zod";

export const locales = {};
/** Each holds the languages once more, and nothing that is not in `zod` itself. */
export const core = {};
export const z = {};

export function fromJSONSchema(): never {
  throw new ByrefError("bad_configuration", "This Worker has no zod.fromJSONSchema.");
}

export function compile(): never {
  throw new ByrefError("bad_configuration", "This Worker has no zod.compile.");
}

export const withParser = compile;
