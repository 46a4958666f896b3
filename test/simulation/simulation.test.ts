import { expect, test } from "vitest";
import { simulateSeed } from "./seeds.ts";

const SEEDS = Number(process.env.SEEDS ?? 300);
const FIRST = Number(process.env.FIRST ?? 1);

test(`${SEEDS} conversations with crashes come to what they come to without`, async () => {
  const broken: string[] = [];
  let crashes = 0; let waits = 0;
  const t = performance.now();
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    try { const o = await simulateSeed(seed); crashes += o.crashes; waits += o.waits; } catch (error) { broken.push((error as Error).message); }
  }
  console.log({ crashes, waits, ms: performance.now() - t, broken: broken.length });
  for (const one of broken.slice(0, 15)) console.log(one.slice(0, 900));
  expect(broken.length).toBe(0);
}, 600_000);
