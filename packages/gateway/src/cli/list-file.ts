import { readFileSync } from "node:fs";
import type { Tool } from "@modelcontextprotocol/server";
import type { ListKeeper } from "../tool-lists.ts";
import { json } from "../../../../src/internal.ts";
import { digestOf } from "./digest.ts";
import { writeAtomically } from "./write-atomically.ts";

/** Keeps lists of tools and instructions in a file, under digests, because addresses may hold keys. */
export function listFile(file: string): ListKeeper {
  return {
    read(key) {
      const tools = readAll(file)[digestOf(key)];
      return Array.isArray(tools) ? (tools as readonly Tool[]) : undefined;
    },
    write: (key, tools) => write(file, digestOf(key), tools),
    readInstructions(key) {
      const text = readAll(file)[instructionsOf(key)];
      return typeof text === "string" ? text : undefined;
    },
    writeInstructions: (key, text) => write(file, instructionsOf(key), text),
  };
}

function instructionsOf(key: string): string {
  return `${digestOf(key)} instructions`;
}

function write(file: string, key: string, value: unknown): void {
  const all = readAll(file);
  if (JSON.stringify(all[key]) === JSON.stringify(value)) return;
  writeAtomically(file, JSON.stringify({ ...all, [key]: value }));
}

/** A file that is missing or damaged has no lists. */
function readAll(file: string): Readonly<Record<string, unknown>> {
  try {
    const read = json.jsonIn(readFileSync(file, "utf8"));
    return json.isObject(read) ? read : {};
  } catch {
    return {};
  }
}
