import { afterEach, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { codeTool } from "../../src/tool/code/code-tool.ts";
import type { Sandbox, SandboxError } from "../../src/tool/code/sandbox.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

afterEach(() => vi.useRealTimers());

it("a model does not learn whether code with sealed values hangs", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const begun = Promise.withResolvers<void>();
  const error: SandboxError = { kind: "timeout", message: "The code did not finish." };
  // Ends code that hangs after its time limit, like the sandbox of the Worker Loader.
  const sandbox: Sandbox = {
    run: async ({ timeMs }) => {
      const over = new Promise((resolve) => setTimeout(resolve, timeMs));
      begun.resolve();
      await over;
      return { assigned: [], console: "", error };
    },
  };
  const chat = new Conversation({
    services: { code: (options) => codeTool({ ...options, sandbox }) },
  });
  await chat.store.save({ name: "note", value: "a", visibility: "sealed" });
  const input = { code: "await new Promise(() => {})", variables: ["note"] };
  const running = chat.say({
    steps: [
      [toolCall("run_code", input), finish("tool-calls")],
      [text("Done."), finish()],
    ],
  });
  await begun.promise;
  await vi.advanceTimersByTimeAsync(limits.toolMs);
  const { calls } = await running;
  const shown = JSON.stringify(calls[1]?.prompt);
  expect(shown).toContain('"returned":{"$var":"run_code_1","visibility":"sealed"}');
});
