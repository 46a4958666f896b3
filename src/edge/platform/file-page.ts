import * as z from "zod";

export const file = z.strictObject({
  path: z.string(),
  bytes: z.int().min(0),
  mediaType: z.string(),
  /** The ETag, with quotes. Changes with each write. */
  etag: z.string(),
  modified: z.string().meta({ format: "date-time" }),
  visibility: z.enum(["model", "sealed", "secret"]),
});
export type FileSummary = Readonly<z.infer<typeof file>>;

export const files = z.strictObject({
  files: z.array(file),
  next: z.string().optional().describe("For the next page: after"),
});
export type FilePage = Readonly<z.infer<typeof files>>;
