import type { Tool, ToolExecutionOptions } from "ai";
import * as z from "zod";

/** A tool with these parameters. */
export function toolOf<Shape extends z.ZodRawShape, Output>(
  shape: Shape,
  execute: (
    input: z.infer<z.ZodObject<Shape>>,
    options: ToolExecutionOptions<unknown>,
  ) => Output | PromiseLike<Output>,
) {
  // TypeScript does not compare the SDK's type with one that depends on a generic shape.
  const made: unknown = { inputSchema: z.object(shape), execute };
  return made as Tool<z.infer<z.ZodObject<Shape>>, Output>;
}
