import { ByrefError, codeOf } from "../../errors.ts";
import type { Write } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { guardOf } from "../../store/visibility.ts";
import { isExtension } from "../../store/write-mode.ts";
import type { RuntimeToolContext } from "../runtime-tool.ts";
import { notExtended } from "../save-target.ts";
import { failedWrite } from "../sealed-failure.ts";
import { usable } from "./variable-target.ts";

type Context = Pick<RuntimeToolContext, "store" | "call">;
type NamedWrite = Write & { readonly name: string };

/**
 * Throws `bad_name`, `variable_secret` or `variable_sealed` for what a model may not write: a secret, or a
 * part of a guarded variable.
 */
export function requireWritable(
  { store, call }: Context,
  write: Pick<NamedWrite, "name" | "path" | "mode">,
): void {
  const { name } = write;
  if (name === "input") {
    throw new ByrefError(
      "bad_name",
      "input is what was asked for: it cannot be written; choose another name.",
    );
  }
  if (store.glance(name) === undefined) return;
  const { visibility } = usable(store, name);
  const isAdded = visibility !== "model" && isExtension({ ...write, value: null });
  if (isAdded && call.isPlanned !== true) throw notExtended(name);
}

/**
 * Saves a value under a name that a model has chosen. The variable keeps its guard, whatever replaces its
 * value. If a guarded value does not fit, a variable that reports the failure to people takes its place.
 */
export async function saveGuarded(context: Context, write: NamedWrite): Promise<VariableInfo> {
  const { store, call } = context;
  const { name, mode } = write;
  // Meanwhile it may have become secret.
  requireWritable(context, write);
  const guards = [store.glance(name)?.visibility, write.visibility];
  const visibility = guardOf(guards.filter((guard) => guard !== undefined));
  try {
    return await store.save({ ...write, visibility });
  } catch (error) {
    const code = codeOf(error);
    if (visibility === "model" || code === "internal") throw error;
    const isOfValue = code === "limit_exceeded" || mode === "append" || mode === "merge";
    if (isOfValue && call.isPlanned !== true) {
      return store.save(failedWrite({ ...write, visibility }, error));
    }
    throw new ByrefError(code, `What was written to $${name} could not be saved, and is guarded.`);
  }
}
