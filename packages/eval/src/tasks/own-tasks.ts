import { bytesTask } from "./bytes-task.ts";
import { distractorTask } from "./distractor-task.ts";
import { documentKinds } from "./documents.ts";
import { editTask } from "./edit-task.ts";
import { idsTask } from "./ids-task.ts";
import { injectionTask } from "./injection-task.ts";
import { joinTask } from "./join-task.ts";
import { longTask } from "./long-task.ts";
import { smallTask } from "./small-task.ts";
import type { Task } from "./task.ts";
import { wrongReferenceTask } from "./wrong-reference-task.ts";

export interface TaskOptions {
  /** Small sizes only. */
  readonly isQuick: boolean;
  /** Number of tasks of each kind. */
  readonly count: number;
  /** The first seed. */
  readonly seed: number;
}

/** Characters of the documents. */
const SIZES = [1_000, 8_000, 32_000, 128_000, 1_000_000];
const QUICK_SIZES = [1_000, 8_000, 48_000];

/** Creates the tasks that need no data of others. The same options create the same tasks. */
export function ownTasks({ isQuick, count, seed }: TaskOptions): readonly Task[] {
  const sizes = isQuick ? QUICK_SIZES : SIZES;
  const kinds = isQuick ? (["csv", "json"] as const) : documentKinds;
  return Array.from({ length: count }, (_, index) => seed + index).flatMap((seed) => [
    ...sizes.flatMap((size) => kinds.map((kind) => bytesTask({ kind, size, seed }))),
    ...(isQuick ? [8_000] : [4_000, 32_000]).map((size) => editTask({ size, seed })),
    idsTask({ seed }),
    joinTask({ orders: isQuick ? 60 : 600, seed }),
    longTask({ size: isQuick ? 60_000 : 240_000, seed }),
    wrongReferenceTask({ seed }),
    distractorTask({ seed }),
    smallTask({ seed }),
    injectionTask({ seed }),
  ]);
}
