import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { change } from "../prepared-save.ts";
import { runtimeTool } from "../runtime-tool.ts";
import { targetIn, usable } from "./variable-target.ts";

export const deleteVariable = runtimeTool({
  name: "delete_variable",
  description: "Delete a variable.",
  inputSchema: z.object({ name: z.string() }),
  execute(input, { store }) {
    const { name, path } = targetIn(input.name);
    if (path.length > 0) {
      const message = `Only a whole variable can be deleted; ${name} is one.`;
      throw new ByrefError("bad_path", message);
    }
    if (name === "input") {
      throw new ByrefError("bad_name", "input is what was asked for: it cannot be deleted.");
    }
    const requireDeletable = () => {
      if (!usable(store, name).pinned) return;
      throw new ByrefError("bad_request", `$${name} is pinned: it cannot be deleted.`);
    };
    requireDeletable();
    return {
      output: async () =>
        change(() => {
          requireDeletable();
          store.delete(name);
          return { deleted: name };
        }),
    };
  },
});
