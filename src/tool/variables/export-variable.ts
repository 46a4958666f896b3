import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { parseMediaType } from "../../value/media-type.ts";
import {
  type FileContent,
  fileContent,
  fileFormats,
  filePathIn,
  type FileWriter,
  formatFor,
} from "../files.ts";
import { change } from "../tool-call.ts";
import { runtimeTool } from "../runtime-tool.ts";
import { readBytes, readValue, valueOf } from "../store-lookup.ts";
import { type Target, targetIn, usable } from "./variable-target.ts";

const NAME = "export_variable";

const inputSchema = z.object({
  name: z.string(),
  path: z.string().optional(),
  file: z.string(),
  format: z.enum(fileFormats).optional(),
});

export function exportVariable(files: FileWriter) {
  return runtimeTool({
    name: NAME,
    // A repeated call writes the same file.
    effects: "idempotent",
    description: "Write a variable or part to file:a.csv.",
    offeredFrom: "text",
    // The name may contain the path, and the file's extension determines the format.
    unlisted: ["path", "format"],
    inputSchema,
    async execute({ name, path, file, format }, { store, labels }) {
      const target = targetIn(name, path);
      const info = usable(store, target.name);
      const written = filePathIn(file);
      labels.add(info.name);
      const content = await contentOf(store, info, { target, written, format });
      const guards = labels.ofResult(NAME);
      return {
        output: async () => {
          const done = await files.write(written, content, guards);
          // The length of a guarded value would reveal something about it.
          const bytes = guards.visibility === "model" ? { bytes: done.bytes } : {};
          return change(() => ({ file: `file:${done.path}`, ...bytes }));
        },
      };
    },
  });
}

interface ExportRequest {
  readonly target: Target;
  /** The file's path. */
  readonly written: string;
  readonly format: (typeof fileFormats)[number] | undefined;
}

async function contentOf(
  store: Variables,
  info: VariableInfo,
  { target, written, format }: ExportRequest,
): Promise<FileContent> {
  const isWhole = format === undefined && target.path.length === 0;
  if (info.type === "bytes" && !isWhole) {
    const message = `$${info.name} is bytes, and is exported as it is.`;
    throw new ByrefError("bad_value", message);
  }
  const as = format ?? formatFor(written, null);
  const isFile = target.path.length === 0 && as === "csv" && isCsv(info);
  const value = isFile
    ? valueOf(target, await readBytes(target, store))
    : await readValue(store, target, { bytes: true });
  // Bytes, or a CSV as it came.
  if ((value as unknown) instanceof Uint8Array) {
    return { bytes: value as unknown as Uint8Array, mediaType: info.mediaType };
  }
  return fileContent(value, format ?? formatFor(written, value));
}

function isCsv({ type, mediaType }: VariableInfo): boolean {
  return type === "array" && parseMediaType(mediaType)?.essence === "text/csv";
}
