import { CONVERSATIONS, exhaust } from "./exhaustive.ts";
for (const [name, plan] of Object.entries(CONVERSATIONS)) {
  const t = performance.now();
  try { console.log(name, await exhaust(plan, process.argv[2] === "pairs"), performance.now() - t); } catch (e) { console.log(name, (e as Error).message); }
}
