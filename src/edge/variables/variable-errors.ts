import { ByrefError } from "../../errors.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import { evictionMessage } from "../../tool/store-lookup.ts";

/** The error for a variable that does not exist or was evicted. */
export function missingVariable(name: string, store: VariableStore): ByrefError {
  const tombstone = store.tombstone(name);
  if (tombstone === undefined) {
    return new ByrefError("variable_not_found", `There is no variable ${name}.`);
  }
  return new ByrefError("variable_evicted", evictionMessage(tombstone), { tombstone });
}

export function secretVariable(name: string): ByrefError {
  return new ByrefError("variable_secret", `${name} is secret: its value is never handed out.`);
}
