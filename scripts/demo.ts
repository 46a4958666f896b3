/**
 * Has a conversation with its own server and shows what passes by reference: `npm run demo`. Tool inputs are
 * resolved here as in the server: with the same engine and the same variables, read over HTTP.
 */
import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import type { VariableInfo } from "../src/byref.ts";
import { type Json, type Lookup, readPath, resolveReferences } from "../src/references.ts";
import type { Savings } from "../src/turn/spend/savings.ts";
import { startDemoWorker } from "./local-worker.ts";

const MAX_SHOWN_CHARS = 110;

const conversations = [
  {
    agent: "weather",
    questions: ["What's the weather in NYC?", "What about London? Then compare them."],
  },
  { agent: "orders", questions: ["Summarize my orders."] },
];

console.log("Starting a local Worker …");
const worker = await startDemoWorker();
try {
  for (const { agent, questions } of conversations) {
    console.log(`\n=== The ${agent} agent ===`);
    const total = { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 };
    for (const question of questions) add(total, await ask(agent, question));
    await showVariables(agent);
    showSavings(total);
  }
} finally {
  await worker.stop();
}

async function ask(agent: string, question: string): Promise<Savings | undefined> {
  console.log(`\nperson          ${question}`);
  const transport = new DefaultChatTransport({
    api: `${worker.url}/conversations`,
    body: { agent },
  });
  const message: UIMessage = {
    id: crypto.randomUUID(),
    role: "user",
    parts: [{ type: "text", text: question }],
  };
  const stream = await transport.sendMessages({
    chatId: agent,
    messages: [message],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
  let savings: Savings | undefined;
  for await (const chunk of stream) {
    await show(agent, chunk);
    if (chunk.type === "message-metadata") savings = savingsIn(chunk.messageMetadata);
  }
  console.log(`as written      ${indented(await writtenAnswer(agent))}`);
  return savings;
}

async function show(agent: string, chunk: UIMessageChunk): Promise<void> {
  switch (chunk.type) {
    case "tool-input-available": {
      const input = chunk.input as Json;
      const { value } = await resolveReferences(input, lookupOver(agent));
      console.log(`model calls     ${chunk.toolName}(${JSON.stringify(input)})`);
      console.log(`tool receives   ${short(value)}`);
      return;
    }
    case "tool-output-available":
      console.log(`model is shown  ${short(chunk.output as Json)}`);
      return;
    case "text-start":
      process.stdout.write("person sees     ");
      return;
    case "text-delta":
      process.stdout.write(indented(chunk.delta));
      return;
    case "text-end":
      process.stdout.write("\n");
      return;
    case "error":
      console.log(`error           ${chunk.errorText}`);
      return;
    default:
  }
}

/** Looks up the variables of the running conversation over HTTP. */
function lookupOver(agent: string): Lookup {
  return async ({ name, path }) => {
    const response = await fetch(`${variablesUrl(agent)}/${name}`);
    if (!response.ok) return { found: false, reason: "unknown" };
    const isText = response.headers.get("content-type")?.startsWith("text/plain") === true;
    const text = await response.text();
    const reading = readPath(isText ? text : (JSON.parse(text) as Json), path);
    return reading.found ? reading : { found: false, reason: "path" };
  };
}

async function writtenAnswer(agent: string): Promise<string> {
  const url = `${worker.url}/conversations/${agent}/messages?limit=1&form=reference`;
  const { messages } = (await (await fetch(url)).json()) as { messages: UIMessage[] };
  return (messages[0]?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

async function showVariables(agent: string): Promise<void> {
  const response = await fetch(variablesUrl(agent));
  const { variables } = (await response.json()) as { variables: VariableInfo[] };
  console.log("\nVariables");
  for (const { name, type, count, bytes, tool } of variables) {
    console.log(
      `  $${name.padEnd(24)} ${type} of ${count}, ${bytes.toLocaleString("en")} bytes, from ${tool}`,
    );
  }
}

function showSavings(total: Savings): void {
  const number = (value: number) => value.toLocaleString("en");
  console.log("\nCharacters");
  console.log(`  sent to the model         ${number(total.promptChars)}`);
  console.log(`  the same with the values  ${number(total.inlinePromptChars)}`);
  console.log(`  references it wrote       ${number(total.authoredChars)}`);
  console.log(`  what they stood for       ${number(total.resolvedChars)}`);
}

function add(total: { -readonly [Key in keyof Savings]: number }, more: Savings | undefined): void {
  if (more === undefined) return;
  total.promptChars += more.promptChars;
  total.inlinePromptChars += more.inlinePromptChars;
  total.authoredChars += more.authoredChars;
  total.resolvedChars += more.resolvedChars;
}

function savingsIn(metadata: unknown): Savings | undefined {
  // The server's last metadata: `TurnMetadata`.
  return (metadata as { savings?: Savings }).savings;
}

function variablesUrl(agent: string): string {
  return `${worker.url}/conversations/${agent}/variables`;
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  const more = text.length - MAX_SHOWN_CHARS;
  return more <= 0
    ? text
    : `${text.slice(0, MAX_SHOWN_CHARS)}… (+${more.toLocaleString("en")} characters)`;
}

function indented(text: string): string {
  return text.replaceAll("\n", `\n${" ".repeat(16)}`);
}
