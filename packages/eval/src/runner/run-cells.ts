import type { Arm } from "../arms/arm.ts";
import { RunStopped } from "../models/run-stopped.ts";
import type { Task } from "../tasks/task.ts";
import type { Cell } from "./cell.ts";
import type { CellLog } from "./cell-log.ts";

export interface RunOptions {
  readonly tasks: readonly Task[];
  readonly arms: readonly Arm[];
  readonly log: Pick<CellLog, "has" | "add">;
  /** Cells at the same time. */
  readonly concurrency: number;
  play(task: Task, arm: Arm): Promise<Cell>;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly done: number;
  /** Cells that were not finished before. */
  readonly total: number;
  readonly cell: Cell;
}

/** How a run ended. A stopped run resumes when started again. */
export interface RunEnd {
  readonly stopped?: string;
}

/**
 * Plays all cells that are not finished yet. The arms of a task follow each other, so that a run that stops
 * has pairs.
 */
export async function runCells(options: RunOptions): Promise<RunEnd> {
  const { tasks, arms, log, concurrency, play, onProgress } = options;
  const open = tasks.flatMap((task) =>
    arms.filter((arm) => !log.has({ task: task.id, arm: arm.name })).map((arm) => ({ task, arm })),
  );
  const total = open.length;
  let done = 0;
  let stopped: string | undefined;
  const work = async () => {
    for (
      let next = open.shift();
      next !== undefined && stopped === undefined;
      next = open.shift()
    ) {
      try {
        const cell = await play(next.task, next.arm);
        log.add(cell);
        done++;
        onProgress?.({ done, total, cell });
      } catch (error) {
        if (!(error instanceof RunStopped)) throw error;
        stopped ??= error.message;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return stopped === undefined ? {} : { stopped };
}
