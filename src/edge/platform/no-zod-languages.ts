/**
 * Replaces `zod/v4` (`alias` in wrangler.toml). Providers import `z` from there, one object that bundlers
 * cannot split. It includes error messages in 50 languages, a schema compiler, which needs `new Function`,
 * and a JSON Schema reader. None of them is used; together they add 52 KiB to the deployable Worker.
 */
export * from "zod";
export * as z from "./zod-without-languages.ts";
