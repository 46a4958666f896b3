import { readFileSync } from "node:fs";
import type { Tool } from "@modelcontextprotocol/server";
import type { ListKeeper } from "../gateway/tool-lists.ts";
import { isObject, jsonIn } from "../value/json.ts";
import { digestOf } from "./digest.ts";
import { writeAtomically } from "./write-atomically.ts";

/** Keeps lists of tools in a file, under digests, because addresses may hold keys. */
export function listFile(file: string): ListKeeper {
  return {
    read(key) {
      const tools = readAll(file)[digestOf(key)];
      return Array.isArray(tools) ? (tools as readonly Tool[]) : undefined;
    },
    write(key, tools) {
      const all = { ...readAll(file), [digestOf(key)]: tools };
      writeAtomically(file, JSON.stringify(all));
    },
  };
}

/** A file that is missing or damaged has no lists. */
function readAll(file: string): Readonly<Record<string, unknown>> {
  try {
    const read = jsonIn(readFileSync(file, "utf8"));
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}
