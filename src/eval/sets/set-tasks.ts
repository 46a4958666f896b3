import type { NamedSet } from "../runner/eval-options.ts";
import type { Task } from "../tasks/task.ts";

/** Reads the tasks of a public set in a folder. */
export function setTasks({ name }: NamedSet): readonly Task[] {
  throw new Error(`There is no reader for ${name}.`);
}
