import type { ListKeeper } from "../tool-lists.ts";
import { Recent } from "../../../../src/internal.ts";

const MAX_LISTS = 256;
const instructions = new Recent<string>(MAX_LISTS);
const known = new Recent<NonNullable<ReturnType<ListKeeper["read"]>>>(MAX_LISTS);

/** Keeps lists of tools for the lifetime of the isolate: another conversation need not wait for the servers. */
export const toolLists: ListKeeper = {
  read: (key) => known.get(key),
  write: (key, tools) => known.set(key, tools),
  readInstructions: (key) => instructions.get(key),
  writeInstructions: (key, text) => instructions.set(key, text),
};
