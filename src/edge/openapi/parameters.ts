import * as z from "zod";
import { LOCATIONS } from "../placement.ts";

/** What several calls take or give. */

export const text = z.string();
export const bytes = z.string().meta({ format: "binary" });

export const after = z.int().min(0).optional().describe("The last that was had");

export const location = z
  .enum(LOCATIONS)
  .optional()
  .describe("Where a new conversation should live; default: near to whoever makes it");

export function pageSize(max: number): z.ZodType {
  return z.int().min(1).max(max).default(max);
}
