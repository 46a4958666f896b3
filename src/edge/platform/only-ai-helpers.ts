/**
 * Replaces `ai` (`alias` in wrangler.toml). The Worker uses `tool` and `generateId` of it, which come from here, and
 * its main module would add 6 KiB of schemas and errors to the deployable Worker.
 */
export * from "@ai-sdk/provider-utils";
