import { config } from "zod/v4/core";

// The page's policy forbids `eval`: without this each load would try it once, and report a violation.
config({ jitless: true });
