import { ByrefError } from "../../errors.ts";

/** All of zod except the parts named in `no-zod-languages.ts`. */
export * from "zod";

export const locales = {};
/** Both would include the languages again, and nothing that is not in `zod` itself. */
export const core = {};
export const z = {};

export function compile(): never {
  throw new ByrefError("bad_configuration", "This Worker has no zod.compile.");
}

export const withParser = compile;
