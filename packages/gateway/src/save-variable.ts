import * as z from "zod";
import { ByrefError } from "../../../src/errors.ts";
import {
  type OpenValue,
  requireWellFormed,
  sequences,
  type Target,
  targets,
  type Variables,
} from "../../../src/internal.ts";
import { type RuntimeTool, runtimeTool, toolFiles } from "../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../src/runtime.ts";
import type { Json } from "../../../src/references.ts";
import { textOf } from "./json-text.ts";

/** Writes files of the person's computer. */
export interface FileSaver {
  /**
   * Writes the file, all of it or nothing, and returns its path and size. Throws `bad_path` for a file that must
   * not be written.
   */
  save(
    file: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly file: string; readonly bytes: number }>;
}

/** Bytes of a stored value that are in memory at once. */
const PIECE_BYTES = 1_048_576;

/**
 * Returns the tool that writes a variable to a file. Refuses sealed variables, because other programs could read
 * the file.
 */
export function saveVariable(files: FileSaver): RuntimeTool {
  return runtimeTool({
    name: "save_variable",
    description: "Write a variable or a part of it to a file on this computer.",
    effects: "idempotent",
    inputSchema: z.object({ name: z.string(), file: z.string(), path: z.string().optional() }),
    async execute({ name, file, path }, { store }) {
      const target = targets.targetIn(name, path);
      const info = targets.readable(store, target.name);
      const stored = target.path.length === 0 ? store.open(info.name) : undefined;
      try {
        const isAsStored = stored !== undefined && isStoredAsWritten(info, file);
        const content = isAsStored ? piecesOf(stored) : textPieces(store, { info, target, file });
        return { output: { ...(await files.save(file, content)) } };
      } finally {
        stored?.close();
      }
    },
  });
}

/** True if the file's bytes are those of the store: of a text, of bytes, and of JSON that was read from a text. */
function isStoredAsWritten({ type, mediaType, textKey }: VariableInfo, file: string): boolean {
  if (type === "bytes") return true;
  if (type === "string") return mediaType === "text/plain";
  return textKey === "" && toolFiles.formatFor(file, null) === "json";
}

async function* piecesOf({ info, read }: OpenValue): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < info.bytes; from += PIECE_BYTES) {
    yield await read(from, Math.min(from + PIECE_BYTES, info.bytes));
  }
}

async function* textPieces(
  store: Variables,
  { info, target, file }: { info: VariableInfo; target: Target; file: string },
): AsyncGenerator<Uint8Array> {
  if (info.type === "bytes")
    throw new ByrefError("bad_path", `$${info.name} is bytes: it has no path.`);
  const value = await targets.inspect(info, target, () => sequences.valueAt(store, target));
  const text = await textToSave(store, { value, target, file });
  requireWellFormed(text, "A file");
  yield new TextEncoder().encode(text);
}

/** Texts are written as they are, other values in the format that the file's ending names, by default as JSON. */
async function textToSave(
  store: Variables,
  { value, target, file }: { value: Json; target: Target; file: string },
): Promise<string> {
  if (typeof value === "string") return value;
  const format = toolFiles.formatFor(file, value);
  const isWhole = target.path.length === 0;
  const received =
    isWhole && format !== "csv" ? await textOf(target.name, value, store) : undefined;
  if (received !== undefined) return received;
  const content = toolFiles.fileContent(value, format);
  return "text" in content ? content.text : "";
}
