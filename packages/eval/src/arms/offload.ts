import { tool } from "ai";
import * as z from "zod";
import { characters } from "../../../../src/internal.ts";
import type { Arm } from "./arm.ts";
import { showing } from "./by-value.ts";
import { playTurn } from "./loop.ts";

/** Longer results become files. */
const OFFLOADED_CHARS = 4_000;
const PREVIEW_CHARS = 1_000;
/** Characters of a file returned by one call. */
const READ_CHARS = 20_000;

/** A long result becomes a file: the model sees a preview, and reads the rest in parts. */
export const offloaded: Arm = {
  name: "offload",
  open(tools) {
    const files = new Map<string, string>();
    const pathOf = (text: string) => {
      const known = Array.from(files).find(([, content]) => content === text);
      const path = known?.[0] ?? `/results/${files.size + 1}.txt`;
      files.set(path, text);
      return path;
    };
    const shown = showing(tools, (text) => {
      if (text.length <= OFFLOADED_CHARS) return undefined;
      const preview = characters.clip(text, PREVIEW_CHARS);
      const note = "The result is long, so it is in this file. Read it with read_file.";
      return JSON.stringify({ file: pathOf(text), characters: text.length, preview, note });
    });
    const all = { ...shown, read_file: readFile(files) };
    return { play: (turn) => playTurn(turn, all), readers: ["read_file"] };
  },
};

function readFile(files: ReadonlyMap<string, string>) {
  return tool({
    description: `Reads up to ${READ_CHARS} characters of a file, from an offset on.`,
    inputSchema: z.object({ path: z.string(), offset: z.int().min(0).optional() }),
    execute({ path, offset = 0 }) {
      const text = files.get(path);
      if (text === undefined) throw new Error(`There is no file ${path}.`);
      return text.slice(offset, offset + READ_CHARS);
    },
  });
}
