/**
 * Has a conversation with its own server and shows what passes by reference: `npm run demo`. Tool inputs are
 * resolved here as in the server: with the same engine and the same variables, read over HTTP.
 */
import { createClient } from "../packages/client/src/client.ts";
import { type Json, type Lookup, readPath, resolveReferences } from "../src/references.ts";
import type { Savings } from "../src/turn/spend/savings.ts";
import { startDemoServer } from "./local-server.ts";

const MAX_SHOWN_CHARS = 110;
const CONVERSATIONS = {
  weather: ["What's the weather in NYC?", "What about London? Then compare them."],
  orders: ["Summarize my orders."],
};

console.log("Starting a local server …");
const server = await startDemoServer();
try {
  for (const [agent, questions] of Object.entries(CONVERSATIONS)) {
    console.log(`\n=== The ${agent} agent ===`);
    const total: Record<string, number> = {};
    for (const question of questions) {
      for (const [name, count] of Object.entries(await ask(agent, question))) {
        total[name] = (total[name] ?? 0) + count;
      }
    }
    console.log("\nVariables");
    const { variables } = await conversationOf(agent).variables.list();
    for (const { name, type, count, bytes, tool } of variables) {
      const size = `${type} of ${count}, ${bytes.toLocaleString("en")} bytes`;
      console.log(`  $${name.padEnd(24)} ${size}, from ${tool}`);
    }
    console.log("\nCharacters");
    show("  sent to the model         ", total["promptChars"]);
    show("  the same with the values  ", total["inlinePromptChars"]);
    show("  references it wrote       ", total["authoredChars"]);
    show("  what they stood for       ", total["resolvedChars"]);
  }
} finally {
  await server.stop();
}

function conversationOf(agent: string) {
  return createClient(server.url).conversation(agent);
}

async function ask(agent: string, question: string): Promise<Savings> {
  show("\nperson          ", question);
  const turn = conversationOf(agent).send(question, { agent });
  let text = "";
  for await (const chunk of turn) {
    if (chunk.type === "tool-input-available") {
      const { value } = await resolveReferences(chunk.input as Json, lookupOver(agent));
      console.log(`model calls     ${chunk.toolName}(${JSON.stringify(chunk.input)})`);
      show("tool receives   ", short(value));
    }
    if (chunk.type === "tool-output-available")
      show("model is shown  ", short(chunk.output as Json));
    if (chunk.type === "text-delta") text += chunk.delta;
    if (chunk.type === "error") show("error           ", chunk.errorText);
  }
  show("person sees     ", text);
  const { messages } = await conversationOf(agent).messages({ limit: 1, form: "reference" });
  const written = messages[0]?.parts.map((part) => (part.type === "text" ? part.text : ""));
  show("as written      ", written?.join("") ?? "");
  return (await turn.json()).savings;
}

/** Looks up the variables of the running conversation over HTTP. */
function lookupOver(agent: string): Lookup {
  return async ({ name, path }) => {
    const value = await conversationOf(agent)
      .variables.get(name)
      .catch(() => undefined);
    if (value === undefined) return { found: false, reason: "unknown" };
    const reading = readPath(value as Json, path);
    return reading.found ? reading : { found: false, reason: "path" };
  };
}

function show(label: string, value: string | number = 0): void {
  const text = value.toLocaleString("en").replaceAll("\n", `\n${" ".repeat(16)}`);
  console.log(`${label}${text}`);
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  const more = text.length - MAX_SHOWN_CHARS;
  if (more <= 0) return text;
  return `${text.slice(0, MAX_SHOWN_CHARS)}… (+${more.toLocaleString("en")} characters)`;
}
