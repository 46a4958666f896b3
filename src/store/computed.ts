import { ByrefError } from "../errors.ts";
import type { Path, Reading } from "../value/path.ts";
import type { Work } from "../value/work.ts";
import type { OpenValue, VariableInfo } from "./variable.ts";

/**
 * A variable without rows of its own: its value is made from other data whenever it is read. It is listed and
 * read like any other. It cannot be written, evicted or exported, and no other variable gets its name.
 */
export interface ComputedVariable {
  /** Has `readOnly`. The sizes are those of the value as JSON. */
  readonly info: VariableInfo;
  /** Reads the value at a path, frozen, in parts. Rejects as `Variables.readPath` does. */
  readPath(path: Path, work: Work): Promise<Reading>;
  /** Opens the value as JSON. Reading rejects with `conflict` if its source was changed meanwhile. */
  open(): OpenValue;
}

/** The error for a change of a computed variable. */
export function readOnly(name: string): ByrefError {
  const message = `$${name} is read-only. Write a variable of another name.`;
  return new ByrefError("bad_name", message);
}
