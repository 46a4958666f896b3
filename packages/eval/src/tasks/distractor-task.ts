import { Random } from "../random.ts";
import { sentenceOf } from "./documents.ts";
import type { Task } from "./task.ts";
import { textTask } from "./text-task.ts";

/** Prices, shell variables, LaTeX and templates stay as they are. */
export function distractorTask({ seed }: { readonly seed: number }): Task {
  const random = new Random(seed);
  const price = () => `$${random.between(1, 2_000)}.${random.between(10, 99)}`;
  const all = [
    `The fee is ${price()}, formerly ${price()}; US$${random.between(2, 90)} at the door.`,
    `Run cp "$HOME/.profile" $\{TMPDIR:-/tmp}/backup-$USER && echo $PATH $1 $@`,
    String.raw`With $x^${random.between(2, 9)} + y_1$ and $$\sum_{i=0}^{n} a_i$$ the sum is $n \to \infty$.`,
    "Dear {{name}}, your order {{ order.id }} costs {{total}}.",
    "In jQuery $(this).val(), in PHP $order['total'] and $items[0]->id.",
    `A footnote† and $name alone; ${sentenceOf(random, 8)}`,
  ];
  const lines = all
    .map((line) => ({ line, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ line }) => line);
  return textTask({ id: `distractors-${seed}`, family: "distractors", text: lines.join("\n") });
}
