import * as z from "zod";
import type { Json } from "../value/json.ts";

/** Any JSON value: one schema for all who take one, so that a description names it once. */
// The same values; ours are read-only.
export const anyJson = z.json() as unknown as z.ZodType<Json>;
