import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../../src/limits.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { ask, said } from "../../support/fault-stages.ts";
import { hostile, isCode } from "../../support/fault-outputs.ts";
import { keptIn } from "../../support/fault-steps.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, toolCall } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { chunksIn } from "../../support/turn-client.ts";

afterEach(() => {
  vi.useRealTimers();
});

// Each output alone: test/turn/faults-tool.test.ts. Here one turn of an object has all of them.
it.each<[string, (becomes: string) => boolean]>([
  ["something hostile", (becomes) => becomes !== "tool_timeout"],
  ["something that hangs", (becomes) => becomes === "tool_timeout"],
])("many tools that return %s at once break nothing", slow, async (_, isMeant) => {
  const rows = Object.entries(hostile).filter(([, [, becomes]]) => isMeant(becomes));
  const begun = Promise.withResolvers<void>();
  let runs = 0;
  const act = tool({
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }) => {
      if (++runs === rows.length) begun.resolve();
      return hostile[name]?.[0]();
    },
  });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { act } };
  const calls = rows.map(([name], index) => toolCall("act", { name }, { id: `call_${index}` }));
  const model = scriptedModel([[...calls, finish("tool-calls")], said, said]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const response = await ask(own, "Go.");
    await begun.promise;
    if (isMeant("tool_timeout")) await vi.advanceTimersByTimeAsync(limits.toolMs);
    expect(chunksIn(await response.text()).at(-1)).toMatchObject({ type: "finish" });
    vi.useRealTimers();
    const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
    const expected = rows.map(([, [, becomes]]) =>
      isCode(becomes) ? `act ${becomes}` : "act output-available",
    );
    expect(keptIn(messages[1])).toEqual([...expected, "Hello."]);
    expect(await (await ask(own, "And now?", "text/plain")).text()).toBe("Hello.");
  });
});
