import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { textIn } from "../../src/store/rows/sql.ts";
import type { TurnHead } from "../../src/turn/log/journal.ts";
import { json } from "../chaos/writers.ts";
import { startCollector } from "../support/collector.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";

let looks = 0;

/** Hangs until its process dies; in the next one it answers. */
const look = tool({
  inputSchema: z.object({}),
  execute: () => (looks++ === 0 ? new Promise<string>(() => {}) : "seen"),
});

const options = (more: Partial<RuntimeOptions> = {}): RuntimeOptions => ({
  agents: [
    { name: "a", description: "", instructions: "", tools: { look }, effects: { look: "none" } },
  ],
  model: scriptedModel([
    [toolCall("look", {}), finish("tool-calls")],
    [text("Seen."), finish()],
  ]),
  ...more,
});

beforeEach(() => {
  looks = 0;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

/** Returns the head of the stored turn. */
function headOf(runtime: NodeRuntime): TurnHead {
  const [row] = runtime.objectOf("c").sql.all(`SELECT head FROM turn WHERE part = 0`);
  return JSON.parse(textIn(row ?? {}, "head")) as TurnHead;
}

describe("the spans of a turn that a crash cut off", () => {
  const TRACE = "0af7651916cd43dd8448eb211c80319c";
  const CALLER = "b7ad6b7169203331";

  it.each([
    { what: "belong to the trace of the request", traceparent: `00-${TRACE}-${CALLER}-01` },
    { what: "belong to the trace that the first attempt began", traceparent: "" },
  ])("$what", async ({ traceparent }) => {
    const collector = await startCollector();
    try {
      const bindings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
      const runtime = new NodeRuntime(options(), bindings);
      const { headers, ...init } = json({ message: "Look" });
      const sent = traceparent === "" ? headers : { ...headers, traceparent };
      void runtime.ask("POST", "/conversations/c/messages", { ...init, headers: sent });
      await vi.waitUntil(() => looks > 0 && runtime.objectOf("c").isRinging);
      const { trace = "" } = headOf(runtime);
      runtime.kill();
      runtime.start(options({ model: scriptedModel([[text("Seen."), finish()]]) }));
      await vi.waitUntil(() => collector.exports.length > 0);
      const [turn] = collector.exports[0]?.spans ?? [];
      expect(trace).toMatch(traceparent === "" ? /^[0-9a-f]{32}$/ : /^00-/);
      expect(turn?.traceId).toBe(traceparent === "" ? trace : TRACE);
      expect(turn?.parentSpanId).toBe(traceparent === "" ? undefined : CALLER);
      expect(JSON.stringify(turn)).toContain("byref.recovered");
    } finally {
      await collector.down();
    }
  });
});
