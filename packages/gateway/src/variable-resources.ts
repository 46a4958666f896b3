import type { ReadResourceResult, Resource } from "@modelcontextprotocol/server";
import { type Bound, requireAtMost } from "../../../src/errors.ts";
import * as limits from "./gateway-limits.ts";
import {
  characters,
  encoding,
  sequences,
  targets,
  type VariableStore,
} from "../../../src/internal.ts";
import { toolOutputs } from "../../../src/internal-tool.ts";
import type { Gateway } from "./gateway.ts";
import { uriOf, VARIABLES } from "./call-result.ts";

/** The addresses of variables and of their parts. */
export const VARIABLE_TEMPLATE = `${VARIABLES}{name}{?path,offset,limit}`;

/** Returns the variables as resources, oldest first. A guarded one shows its name and type only. */
export function variableResources(store: VariableStore): readonly Resource[] {
  return store.list().map((info) => {
    const { name, mediaType, bytes, shape } = info;
    const details =
      toolOutputs.guardedView(info) === undefined ? { size: bytes, description: shape } : {};
    return { uri: uriOf(name), name, mimeType: mediaType, ...details };
  });
}

/** True for the address of a variable. */
export function isVariableUri(uri: string): boolean {
  return uri.startsWith(VARIABLES);
}

/**
 * Reads the variable, or its part at `path`; of a text or JSON at most `limit` characters from `offset`.
 * Rejects with `variable_not_found`, `variable_evicted`, `variable_sealed`, `path_not_found` and, for bytes that
 * are too many, `limit_exceeded`.
 */
export async function readVariableUri(
  uri: string,
  { store, taint }: Pick<Gateway, "store" | "taint">,
): Promise<ReadResourceResult> {
  const { pathname, searchParams } = new URL(uri);
  const written = decodeURIComponent(pathname.split("/").at(-1) ?? "");
  const { name, path } = targets.targetIn(written, searchParams.get("path") ?? undefined);
  const info = targets.readable(store, name);
  // A model may read it.
  if (!info.trusted) taint.add();
  if (info.type === "bytes") {
    const { mediaType: mimeType } = info;
    return { contents: [{ uri, mimeType, blob: await bytesOf(name, store) }] };
  }
  const value = await sequences.valueAt(store, { name, path });
  const isText = typeof value === "string";
  const text = isText ? value : JSON.stringify(value);
  const offset = countIn(searchParams.get("offset"), 0);
  const limit = Math.min(countIn(searchParams.get("limit"), text.length), limits.maxResourceChars);
  const mimeType = isText ? "text/plain" : "application/json";
  return {
    contents: [
      {
        uri,
        mimeType,
        text: characters.sliceCodePoints(text, { from: offset, to: offset + limit }),
      },
    ],
  };
}

async function bytesOf(name: string, store: VariableStore): Promise<string> {
  const opened = store.open(name);
  if (opened === undefined) return "";
  try {
    const { bytes } = opened.info;
    requireAtMost(LIMIT, bytes, "Pass the reference to a tool.");
    return encoding.toBase64(await opened.read(0, bytes));
  } finally {
    opened.close();
  }
}

const LIMIT: Bound = ["maxResourceChars", limits.maxResourceChars];

function countIn(text: string | null, otherwise: number): number {
  const count = Number(text ?? otherwise);
  return Number.isSafeInteger(count) && count >= 0 ? count : otherwise;
}
