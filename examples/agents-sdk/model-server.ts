/**
 * A scripted model behind an endpoint with OpenAI's chat completions, so that the examples run without a key. It
 * ships all orders, cancels one, and says where one goes. It writes references to the variables that it is shown, and otherwise
 * copies values, as a model has to.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

/** The body of a request. */
interface Call {
  readonly messages: readonly Message[];
  readonly tools?: readonly unknown[];
  /** The schema of the answer, if it has one. */
  readonly response_format?: unknown;
}

/** The prompt of one request, as JSON. */
export interface Prompt {
  readonly messages: string;
  readonly tools: string;
}

export interface ModelServer {
  readonly url: string;
  /** The prompts of all requests, in order. */
  readonly prompts: Prompt[];
  /** Texts and tool inputs that the model wrote. */
  readonly written: string[];
  close(): void;
}

export async function startModel(port = 0): Promise<ModelServer> {
  const prompts: Prompt[] = [];
  const written: string[] = [];
  const server = createServer(async (request, response) => {
    const call = JSON.parse(await textOf(request)) as Call;
    prompts.push({
      messages: JSON.stringify(call.messages),
      tools: JSON.stringify(call.tools ?? []),
    });
    const step = nextStep(call);
    written.push("text" in step ? step.text : JSON.stringify(step.input));
    response.setHeader("content-type", "text/event-stream");
    for (const delta of deltasOf(step, prompts.length)) {
      response.write(`data: ${JSON.stringify({ choices: [delta] })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((listening) => server.listen(port, "localhost", listening));
  // A server that listens on a port has such an address.
  const { port: chosen } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${chosen}/v1`, prompts, written, close };
}

type Step = { readonly text: string } | { readonly tool: string; readonly input: unknown };

function nextStep({ messages, response_format: format }: Call): Step {
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && QUESTION.test(JSON.stringify(content)),
  );
  const question = JSON.stringify(messages[asked]?.content ?? "");
  const order = Number(/order (\d+)/u.exec(question)?.[1] ?? -1);
  const isCancelling = question.includes("Cancel");
  const results = messages.filter(({ role }) => role === "tool").map(resultIn);
  const [orders, shipped] = results;
  if (order >= 0 && orders === undefined) return { text: "I know of no orders." };
  if (isCancelling) {
    const cancelled = messages.slice(asked).find(({ role }) => role === "tool");
    return cancelled === undefined
      ? { tool: "cancel_order", input: { id: said(orders, [order, "id"]) } }
      : { text: `${said(resultIn(cancelled), ["cancelled"])} is cancelled.` };
  }
  if (order >= 0 && format !== undefined) {
    const [city, total] = [said(orders, [order, "city"]), said(orders, [order, "total"])];
    return { text: JSON.stringify({ city, total }) };
  }
  if (order >= 0) return { text: `Order ${order} goes to ${said(orders, [order, "city"])}.` };
  if (orders === undefined) return { tool: "list_orders", input: {} };
  if (shipped === undefined) return { tool: "ship_orders", input: { ids: idsIn(orders) } };
  const last = said(orders, [-1, "city"]);
  return { text: `${said(shipped, ["shipped"])} orders are on their way, the last to ${last}.` };
}

const QUESTION = /Ship all orders|Cancel order \d+|Where does order \d+ go/u;

interface Result {
  /** The name of the variable; undefined if the model sees only the value. */
  readonly name: string | undefined;
  readonly value: unknown;
}

function resultIn({ content }: Message): Result {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const value = parsed(text);
  const name = fieldOf(value, "$var");
  return typeof name === "string"
    ? { name, value: fieldOf(value, "value") }
    : { name: undefined, value };
}

/** Returns undefined for an old result whose JSON a framework has cut off. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function idsIn({ name, value }: Result): unknown {
  return name === undefined
    ? (value as readonly { readonly id: string }[]).map(({ id }) => id)
    : `$${name}[*].id`;
}

/** Writes a part of a result as a model would: as a reference, or as its value. */
function said(result: Result | undefined, path: readonly (string | number)[]): string {
  if (result === undefined) return "nowhere";
  const reference = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`));
  if (result.name !== undefined) return `$${result.name}${reference.join("")}`;
  let value: unknown = result.value;
  for (const step of path)
    value = Array.isArray(value) ? value.at(Number(step)) : fieldOf(value, step);
  return value === undefined ? "where I cannot see any more" : String(value);
}

function fieldOf(value: unknown, field: string | number): unknown {
  const isRecord = typeof value === "object" && value !== null;
  return isRecord ? Reflect.get(value, field) : undefined;
}

/** The choices of the stream. A text arrives in pieces, which split references at any place. */
function deltasOf(step: Step, count: number): readonly object[] {
  if ("text" in step) {
    const pieces = step.text.match(/.{1,5}/gsu) ?? [];
    return [
      ...pieces.map((content) => ({ index: 0, delta: { role: "assistant", content } })),
      { index: 0, delta: {}, finish_reason: "stop" },
    ];
  }
  const called = { name: step.tool, arguments: JSON.stringify(step.input) };
  const call = { index: 0, id: `call_${count}`, type: "function", function: called };
  return [
    { index: 0, delta: { role: "assistant", tool_calls: [call] } },
    { index: 0, delta: {}, finish_reason: "tool_calls" },
  ];
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
