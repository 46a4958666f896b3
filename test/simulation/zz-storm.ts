import { CONVERSATIONS } from "./exhaustive.ts";
import { storm } from "./storm.ts";
for (const [name, plan] of Object.entries(CONVERSATIONS)) for (const w of [3, 8, 100]) {
  try { const o = await storm(plan, w); console.log(name, w, o.crashes, o.delays.join(), JSON.stringify(o.messages.at(-1)).slice(0, 100), JSON.stringify(o.messages.at(-1)).slice(-200)); } catch (e) { console.log(name, w, (e as Error).message); }
}
