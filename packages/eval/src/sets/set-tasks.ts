import type { NamedSet } from "../runner/eval-options.ts";
import type { Task } from "../tasks/task.ts";
import { complexFuncBenchTask } from "./complex-func-bench.ts";
import { nestfulTask } from "./nestful.ts";
import { readRecords, type SetRecord } from "./read-records.ts";
import { tauTasks } from "./tau.ts";
import { traceTask } from "./trace-task.ts";

/** Readers of public sets. Each takes the records that it can read. */
const readers: Readonly<Record<string, (record: SetRecord) => readonly Task[]>> = {
  nestful: (record) => one(nestfulTask(record)),
  complexfuncbench: (record) => one(complexFuncBenchTask(record)),
  tau: tauTasks,
  traces: (record) => one(traceTask(record)),
};

/** Reads the tasks of a public set from its folder. Throws if there are none. */
export function setTasks({
  name,
  folder,
  most,
}: NamedSet & { readonly most: number }): readonly Task[] {
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
  if (reader === undefined) {
    throw new Error(`There is no set ${name}; there are ${Object.keys(readers).join(", ")}.`);
  }
  const all = readRecords(folder).flatMap(reader);
  if (all.length === 0) throw new Error(`${folder} has no records of ${name} that can be played.`);
  const tasks = new Map(all.map((task) => [task.id, task]));
  return [...tasks.values()].slice(0, most);
}

function one(task: Task | undefined): readonly Task[] {
  return task === undefined ? [] : [task];
}
