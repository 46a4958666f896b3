import type { Arm } from "../arms/arm.ts";
import { costOf, type Price } from "../models/prices.ts";
import { skillModel } from "../skill/skill-model.ts";
import { skillNamed } from "../skill/skills.ts";
import type { Task } from "../tasks/task.ts";
import type { Cell } from "./cell.ts";
import { playCell } from "./play-cell.ts";

/** Estimate of a run, at about four characters per token. */
export interface Estimate {
  readonly cells: number;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  /** Dollars, without anything from a provider's cache. Absent without a price. */
  readonly cost?: number;
}

export interface EstimateOptions {
  readonly price: Price | undefined;
  readonly contextTokens: number;
}

const EXACT = skillNamed("exact");

/** Plays one task of each kind with a model that makes no mistakes, and multiplies. */
export async function estimateOf(
  tasks: readonly Task[],
  arms: readonly Arm[],
  { price, contextTokens }: EstimateOptions,
): Promise<Estimate> {
  const kinds = new Map<string, Task[]>();
  for (const task of tasks) {
    const kind = `${task.family} ${roundSize(task.size)}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), task]);
  }
  let sum = { cells: 0, calls: 0, input: 0, output: 0 };
  for (const group of kinds.values()) {
    const [task] = group;
    if (task === undefined) continue;
    for (const arm of arms) {
      const cell = await playCell(task, arm, { model: skillModel(EXACT), contextTokens });
      sum = added(sum, cell, group.length);
    }
  }
  const { input, output } = sum;
  return price === undefined ? sum : { ...sum, cost: costOf({ input, cached: 0, output }, price) };
}

/** Documents of the same order of size cost about the same. */
function roundSize(size: number): number {
  return Math.round(Math.log2(size) * 2);
}

type Sum = Pick<Estimate, "cells" | "calls" | "input" | "output">;

function added(sum: Sum, { calls, input, output }: Cell, times: number): Sum {
  return {
    cells: sum.cells + times,
    calls: sum.calls + calls * times,
    input: sum.input + input * times,
    output: sum.output + output * times,
  };
}
