/**
 * Stands in for `zod/v4` (`alias` in wrangler.toml). Providers import `z` from there, one object that no
 * bundler takes apart: with it come error messages in 50 languages, a compiler of schemas, which needs
 * `new Function`, and a reader of JSON schemas. Nobody here uses them: 52 KiB of the deployable Worker.
 */
export * from "zod";
export * as z from "./zod-without-languages.ts";
