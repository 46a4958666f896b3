/**
 * Takes the place of `zod/v4` in a Worker: `alias = { "zod/v4" = "byref/no-zod-languages" }` in wrangler.toml. The AI
 * SDK imports `z` from there, one object that bundlers cannot split, with error messages in 50 languages and a compiler
 * of schemas, which needs `new Function`. Nothing uses them, and without them a Worker is 48 KiB (gzip) smaller. What
 * imports from `zod` has all of it.
 */
export * from "zod";
export * as z from "./edge/platform/zod-without-languages.ts";
