/**
 * Replaces `zod/v4` (`alias` in wrangler.toml). Providers import `z` from there, one object that bundlers
 * cannot split. It includes error messages in 50 languages, and a schema compiler, which needs `new Function`. Neither
 * is used; together they add 47 KiB to the deployable Worker.
 */
export * from "zod";
export * as z from "./zod-without-languages.ts";
