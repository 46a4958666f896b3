import { Random as Numbers } from "../../packages/eval/src/random.ts";

/** Numbers that look random and come again with the same seed. */
export class Random extends Numbers {
  /** Each order of magnitude is as likely as any other. */
  magnitude(min: number, max: number): number {
    return Math.round(min * (max / min) ** this.fraction());
  }

  /** Returns one of the keys, with the probability given by its weight. */
  weighted<Choice extends string>(weights: Readonly<Partial<Record<Choice, number>>>): Choice {
    const choices = Object.entries(weights) as [Choice, number][];
    let left = this.fraction() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("There is nothing to choose from.");
  }

  /** Another generator, for a part of the work that must not depend on the rest. */
  fork(): Random {
    return new Random(this.next());
  }
}
