import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callId, type Fault, type Script } from "./script.ts";

interface StepStream {
  readonly script: Script;
  readonly step: number;
  readonly fault: Fault | undefined;
  /** Returns the variable that a tool's result was saved as, if the model received its name. */
  readonly nameOf: (tool: string) => string | undefined;
  /** Called after each delta that was sent, with its index from 0. */
  readonly onDelta: (index: number) => void;
}

/** Streams one answer of the model as chat completion chunks; resolves when its last byte was sent. */
export async function streamStep(response: ServerResponse, stream: StepStream): Promise<void> {
  const { script, step, fault, onDelta } = stream;
  if (fault === "429" || fault === "500") {
    response.writeHead(Number(fault), { "content-type": "application/json" });
    return end(response, JSON.stringify({ error: { message: `The model answers ${fault}.` } }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const deltas = deltasOf(stream);
  const half = Math.ceil(deltas.length / 2);
  for (const [index, delta] of deltas.entries()) {
    if (response.destroyed) return;
    if (index === half) {
      if (fault === "cut") return void response.destroy();
      if (fault === "garbled")
        return end(response, `data: {"choices": [{"del\n\ndata: nothing\n\n`);
      if (fault === "stalled") return stall(response);
    }
    await write(response, chunkOf([{ index: 0, delta, finish_reason: null }]));
    onDelta(index);
    await sleep(script.deltaMs);
  }
  const calls = script.steps[step]?.calls ?? [];
  const reason = calls.length > 0 ? "tool_calls" : "stop";
  await write(response, chunkOf([{ index: 0, delta: {}, finish_reason: reason }]));
  await write(response, chunkOf([], { usage: TOKENS }));
  await end(response, "data: [DONE]\n\n");
}

const TOKENS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function deltasOf({ script, step, nameOf }: StepStream): readonly object[] {
  const { text, calls } = script.steps[step] ?? { text: "I have nothing to say.", calls: [] };
  const said = text.replaceAll(/\{(\w+)\}/g, (_, tool: string) => `$${nameOf(tool) ?? "unknown"}`);
  const words = said.match(/\S+\s*/g) ?? [];
  const called = calls.flatMap((name, index) => {
    const id = callId(script.marker, { step, index });
    const head = { index, id, type: "function", function: { name, arguments: "" } };
    const input = JSON.stringify({ turn: script.marker, call: id });
    const half = Math.ceil(input.length / 2);
    const rest = [input.slice(0, half), input.slice(half)].map((fragment) => ({
      tool_calls: [{ index, function: { arguments: fragment } }],
    }));
    return [{ tool_calls: [head] }, ...rest];
  });
  return [{ role: "assistant", content: "" }, ...words.map((content) => ({ content })), ...called];
}

function chunkOf(choices: readonly object[], more: object = {}): string {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "scripted" };
  return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
}

function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((done) => response.write(text, () => done()));
}

function end(response: ServerResponse, text: string): Promise<void> {
  return new Promise((done) => {
    response.once("close", done);
    response.end(text, () => done());
  });
}

/** Sends nothing for a while, in which the server may be killed, then closes the connection. */
async function stall(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), STALL_MS);
  await new Promise((done) => response.once("close", done));
  clearTimeout(timer);
}

/** Far shorter than the runtime's limit for a silent model, so that the run need not wait for a minute. */
const STALL_MS = 2_000;
