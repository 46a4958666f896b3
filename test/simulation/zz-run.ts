import { simulateSeed } from "/work/main/test/simulation/seeds.ts";
const first = Number(process.argv[2] ?? 1), count = Number(process.argv[3] ?? 200);
const t = performance.now(); let crashes = 0, waits = 0; const broken: string[] = [];
for (let seed = first; seed < first + count; seed++) {
  try { const o = await simulateSeed(seed); crashes += o.crashes; waits += o.waits; } catch (e) { broken.push((e as Error).message); }
}
console.log({ ms: (performance.now() - t) / count, crashes, waits, broken: broken.length });
for (const b of broken.slice(0, 20)) console.log(b.slice(0, 600));
