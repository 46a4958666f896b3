/**
 * Compares a task that a model does again with the same task as a program: `npm run bench -- programs`. The demo model
 * answers at once, so the time is that of the runtime alone. Each time, the conversation is new. `--quick` takes few
 * samples.
 */
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { plainRow, ratioRows, report } from "./results.ts";
import { isQuick } from "./sides.ts";
import { interleave, spreadOf } from "./statistics.ts";

const ROUNDS = isQuick ? 5 : 40;
const QUESTION = "What are the monthly totals of my orders?";
const classes = { CONVERSATIONS: "Conversation", DIRECTORY: "Directory", TABLES: "Tables" };
const settings = { AUTH: "none", LOG: "off", MODEL: "demo" };
const bundle = bundleWorker("../wrangler.toml", classes);
const server = await startWorkerd({ ours: { bundle, settings } });

interface Answer {
  readonly message: { readonly id: string; readonly parts: readonly { readonly type: string }[] };
  readonly savings: { readonly promptChars: number; readonly authoredChars: number };
}

async function send<Result>(method: string, path: string, body: object): Promise<Result> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const init = { method, headers, body: JSON.stringify(body) };
  const response = await fetch(`${server.urls.ours}${path}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text) as Result;
}

const askModel = (name: string) =>
  send<Answer>("POST", `/conversations/${name}/messages`, { message: QUESTION, agent: "orders" });
const runProgram = () => send<{ text: string }>("POST", "/programs/totals/runs", {});

async function timed(side: "by model" | "ours", round: number): Promise<number> {
  const startMs = performance.now();
  await (side === "ours" ? runProgram() : askModel(`c${round}`));
  return performance.now() - startMs;
}

try {
  const { message, savings } = await askModel("first");
  const source = { conversation: "first", from: message.id };
  await send("PUT", "/programs/totals?agent=orders", source);
  const said = message.parts.map((part) => ("text" in part ? part.text : "")).join("");
  const { text } = await runProgram();
  if (text.trim() !== said.trim()) throw new Error(`${text}\nis not\n${said}`);
  const name = "same task again, as a program";
  const calls = message.parts.filter(({ type }) => type === "step-start").length;
  const chars = savings.promptChars + savings.authoredChars;
  const row = (what: string, unit: string, value: number) => {
    const sides = { ours: spreadOf([0]), "by model": spreadOf([value]) };
    return plainRow({ name: `${name}: ${what}`, value: 0, unit, sides }, 0);
  };
  const samples = await interleave(["ours", "by model"], ROUNDS, timed);
  report({
    rows: [
      row("model calls", "calls", calls),
      row("sent to and written by the model", "characters", chars),
      ...ratioRows({ name, samples, unit: "ms", against: { "by model": null } }),
    ],
  });
} finally {
  server.stop();
}
