import * as z from "zod";
import type { Content } from "./operation.ts";

/** What several calls take or give. */

export const text = z.string();
export const bytes = z.string().meta({ format: "binary" });

export const after = z.int().min(0).optional().describe("The last that was had");

export function json(schema: z.ZodType): Content {
  return { "application/json": schema };
}

export function pageSize(max: number): z.ZodType {
  return z.int().min(1).max(max).default(max);
}
