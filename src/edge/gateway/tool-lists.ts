import type { ListKeeper } from "../../gateway/tool-lists.ts";

type Tools = NonNullable<ReturnType<ListKeeper["read"]>>;

const MAX_LISTS = 256;
const known = new Map<string, Tools>();

/** Keeps lists of tools for the lifetime of the isolate: another conversation need not wait for the servers. */
export const toolLists: ListKeeper = {
  read: (key) => known.get(key),
  write(key, tools) {
    known.delete(key);
    known.set(key, tools);
    const [oldest] = known.keys();
    if (known.size > MAX_LISTS && oldest !== undefined) known.delete(oldest);
  },
};
