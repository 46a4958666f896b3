import { ByrefError, codeOf } from "../../errors.ts";
import type { VariableInfo, VariableStore, Write } from "../../store/variable-store.ts";
import { guardOf } from "../../store/visibility.ts";
import { usable } from "./variable-target.ts";

/** Throws `bad_name` or `variable_secret` for a name under which a model may save nothing. */
export function requireWritable(store: VariableStore, name: string): void {
  if (name === "input") {
    throw new ByrefError(
      "bad_name",
      "input is what was asked for: it cannot be written; choose another name.",
    );
  }
  if (store.glance(name) !== undefined) usable(store, name);
}

/**
 * Saves what a model has chosen a name for. A guard that is there stays, whatever is put in the place of
 * what it guarded. Why a write does not fit tells what is there, and how large it is: of guarded values
 * nothing is told.
 */
export async function saveGuarded(
  store: VariableStore,
  write: Write & { readonly name: string },
): Promise<VariableInfo> {
  const { name } = write;
  // Meanwhile it may have become secret.
  requireWritable(store, name);
  const guards = [store.glance(name)?.visibility, write.visibility];
  const visibility = guardOf(guards.filter((guard) => guard !== undefined));
  try {
    return await store.save({ ...write, visibility });
  } catch (error) {
    const code = codeOf(error);
    if (visibility === "model" || code === "internal") throw error;
    throw new ByrefError(code, `What was written to $${name} could not be saved, and is guarded.`);
  }
}
