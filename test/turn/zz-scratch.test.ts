import { isStepCount, streamText, tool, toUIMessageStream, type UIMessageChunk } from "ai";
import { it } from "vitest";
import { z } from "zod";
import { finish, scriptedModel, type Step, text, toolCall } from "../support/scripted-model.ts";
import { readMessage, turnWith } from "../support/turn.ts";
const tools: any = {
  w: tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n }),
  u: tool({ inputSchema: z.object({}), execute: () => undefined }),
  g: tool({ inputSchema: z.object({}), execute: async function* () { yield 1; yield 2; } }),
  client: tool({ inputSchema: z.object({}) }),
  str: tool({ inputSchema: z.object({}), execute: () => { throw "str"; } }),
  obj: tool({ inputSchema: z.object({}), execute: () => { throw { a: 1 }; } }),
  meta: tool({ inputSchema: z.object({}), metadata: { a: 1 }, execute: () => 1 }),
};
async function both(name: string, steps: readonly Step[]) {
  const m = scriptedModel(steps);
  const { stream } = streamText({ model: m, tools, prompt: "x", stopWhen: isStepCount(20), maxRetries: 0, onError: () => undefined });
  const chunks: UIMessageChunk[] = [];
  try { for await (const c of toUIMessageStream({ stream, tools, sendSources: true })) chunks.push(c); } catch (e) { chunks.push({ type: "error", errorText: String(e) }); }
  const t = await turnWith({ tools, steps });
  console.log(name, "\nSDK ", JSON.stringify(chunks), m.calls.length, "\nOURS", JSON.stringify(t.chunks), t.calls.length);
  console.log(JSON.stringify((await readMessage(chunks)).message?.parts), "\n", JSON.stringify((await readMessage(t.chunks)).message?.parts), "\nprompts", JSON.stringify(m.calls.at(-1)?.prompt), "\n", JSON.stringify(t.calls.at(-1)?.prompt));
}
it("x", async () => {
  await both("length", [[toolCall("w", { n: 1 }), finish("length")], [text("Done"), finish()]]);
  await both("badschema", [[toolCall("w", { n: "x" }, { chunks: 3 }), finish("tool-calls")], [text("Done"), finish()]]);
  await both("undef", [[toolCall("u", {}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("gen", [[toolCall("g", {}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("client", [[toolCall("client", {}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("str", [[toolCall("str", {}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("obj", [[toolCall("obj", {}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("meta", [[toolCall("meta", {}, {chunks: 1}), finish("tool-calls")], [text("Done"), finish()]]);
  await both("enc", [[[{ type: "tool-input-start", id: "e", toolName: "w", inputEncoding: "text" }, { type: "tool-input-delta", id: "e", delta: "1" }, { type: "tool-input-end", id: "e" }], toolCall("w", { n: 1 }, { id: "e" }), finish("tool-calls")], [text("Done"), finish()]]);
  await both("brokenjson", [[toolCall("w", '{"n":'), finish("tool-calls")], [text("Done"), finish()]]);
  await both("nofinish", [[text("Done")]]);
});
