import { tool, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { chunksIn, framesIn, textIn } from "../../support/turn-client.ts";
import { finish, type Step, scriptedModel, text, toolCall } from "byref/testing";

/** The types of chunks in the schema of `ai` 6.0.326, which refuses any other. `data-` stands for all data. */
const KNOWN = new Set(
  `text-start text-delta text-end error tool-input-start tool-input-delta tool-input-available tool-input-error
  tool-approval-request tool-output-available tool-output-error tool-output-denied reasoning-start reasoning-delta
  reasoning-end source-url source-document file data- start-step finish-step start finish abort
  message-metadata`.split(/\s+/u),
);

const ACCEPT = { accept: "text/event-stream;sdk=6" };
const unknownIn = (chunks: readonly UIMessageChunk[]) =>
  chunks.map(({ type }) => type.replace(/^data-.*/u, "data-")).filter((type) => !KNOWN.has(type));

/** A model that is overloaded in the middle of its text, and then answers. */
const overloaded = Object.assign(new Error("Overloaded."), { isRetryable: true });
const breaks: Step = [...text("So f").slice(0, -1), { type: "error", error: overloaded }];
const done: Step = [text("So far."), finish()];

async function talking(steps: readonly Step[], work: (own: OwnRuntime) => Promise<void>) {
  const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { pay } };
  await withRuntime({ agents: [agent], model: scriptedModel(steps) }, work);
}

const ask = (own: OwnRuntime, headers: Record<string, string> = ACCEPT) =>
  own.call("POST", "/conversations/c/messages", json({ message: "Go." }, headers));

describe("a client of AI SDK 6 that says so", () => {
  it("receives a failed try of the model as ended texts, and a data part", async () => {
    await talking([breaks, done], async (own) => {
      const stream = await (await ask(own)).text();
      const chunks = chunksIn(stream);
      expect(unknownIn(chunks)).toEqual([]);
      expect(chunks).toContainEqual({
        type: "data-reset-step",
        data: { type: "reset-step" },
        transient: true,
      });
      expect(textIn(chunks)).toBe("So fSo far.");
      const starts = chunks.filter(({ type }) => type === "text-start");
      const ends = chunks.filter(({ type }) => type === "text-end");
      expect([starts.length, ends.length]).toEqual([2, 2]);
      // The frames have the same ids for all clients, so that each may continue after its last.
      const ids = framesIn(stream).flatMap(({ id }) => id ?? []);
      const others = framesIn(await (await watch(own, {})).text()).flatMap(({ id }) => id ?? []);
      expect([...new Set(ids)]).toEqual(others);
      expect(unknownIn(chunksIn(await (await watch(own, ACCEPT)).text()))).toEqual([]);
    });
  });

  it("receives a decision as a data part", async () => {
    await talking([[toolCall("pay", {}), finish("tool-calls")].flat(), done], async (own) => {
      const request = chunksIn(await (await ask(own)).text()).find(
        ({ type }) => type === "tool-approval-request",
      );
      const id = request?.type === "tool-approval-request" ? request.approvalId : "";
      const init = json({ approved: true }, ACCEPT);
      const decided = await own.call("POST", `/conversations/c/approvals/${id}`, init);
      const chunks = chunksIn(await decided.text());
      expect(unknownIn(chunks)).toEqual([]);
      expect(chunks.map(({ type }) => type)).toContain("data-tool-approval-response");
      expect(textIn(chunks)).toBe("So far.");
    });
  });
});

function watch(own: OwnRuntime, headers: Record<string, string>): Promise<Response> {
  return own.call("GET", "/conversations/c/stream?after=0", { headers });
}
