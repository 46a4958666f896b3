import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, textOf } from "../../support/edge.ts";
import { gate } from "../../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { expectSame, loaded, stockChat } from "../../support/stock-chat.ts";
import { finish, reasoning, type Step, scriptedModel, text, toolCall } from "byref/testing";

const done: Step = [text("Done."), finish()];
const asked = finish("tool-calls");
const said = { toolCallId: "s", toolName: "s" };
const both: Step = [toolCall("say", { n: 1 }), toolCall("say", { n: 2 }), asked].flat();
const fails: Step = [{ type: "error", error: new Error("It is down.") }];

interface Talk {
  readonly own: OwnRuntime;
  readonly paid: readonly number[];
  /** Resolves when `hold` runs, and lets it return. */
  readonly held: ReturnType<typeof gate>;
}

async function talking(steps: readonly Step[], work: (talk: Talk) => Promise<void>): Promise<void> {
  const paid: number[] = [];
  const held = gate();
  const inputSchema = z.object({ n: z.number().optional() });
  const say = tool({ inputSchema, execute: () => "a\u2028b\u2029c\u0085d" });
  const hold = tool({ inputSchema, execute: () => held.wait() });
  const pay = tool({ inputSchema, needsApproval: true, execute: () => paid.push(1) });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { say, hold, pay } };
  const options = { agents: [agent] as const, model: scriptedModel(steps) };
  await withRuntime(options, (own) => work({ own, paid, held }));
}

it.each<[string, Step, ...string[]]>([
  ["fails (vercel/ai#10638)", fails],
  ["says nothing", finish()],
  ["says nothing but white space", [text("\n"), finish()].flat()],
  ["begins no text (#11765)", [text("Hm."), finish()].flat().slice(1), '"Hm."'],
  ["begins no reasoning (#18553)", [...reasoning("Hm.").slice(1), ...finish()], '"Hm."'],
  ["says what no tool said", [{ type: "tool-result", ...said, result: 1 }, ...finish()]],
  ["gives two calls one id (camel-ai/camel#3027)", both, '{"n":1}', '{"n":2}'],
])(
  "a model that %s leaves a message with all of it that the SDK accepts",
  async (_, step, ...parts) => {
    await talking([step, done, done], async ({ own }) => {
      await stockChat(own).sendMessage({ text: "Go." });
      const chat = stockChat(own, await loaded(own));
      await chat.sendMessage({ text: "And now?" });
      await expectSame(own, chat);
      expect(await loaded(own)).toHaveLength(4);
      for (const part of parts) expect(JSON.stringify(await loaded(own))).toContain(part);
    });
  },
);

it("a page that loads in the middle of an answer shows it once (vercel/ai#14688, #13160) after a decision, which continues a message that it has", async () => {
  const both: Step = [text("So: "), toolCall("pay", {}), asked].flat();
  const next: Step = [toolCall("hold", {}), asked].flat();
  await talking([both, next, done], async ({ own, held, paid }) => {
    const first = stockChat(own);
    await first.sendMessage({ text: "Go." });
    const id = JSON.stringify(first.messages).match(/"approval":\{"id":"([^"]+)"/u)?.[1] ?? "";
    const decided = own.call("POST", `/conversations/c/approvals/${id}`, json({ approved: true }));
    await held.reached;
    const second = stockChat(own, await loaded(own));
    const resuming = second.resumeStream();
    held.open();
    await Promise.all([(await decided).text(), resuming]);
    await expectSame(own, second);
    expect(second.messages.map(textOf)).toEqual(["Go.", "So: Done."]);
    expect(paid).toEqual([1]);
  });
});

it("frames have no characters at which clients split lines (modelcontextprotocol/typescript-sdk#1926, langgenius/dify#39008)", async () => {
  await talking(
    [[toolCall("say", {}), asked].flat(), [text("x\u2028y\u0085z"), finish()].flat()],
    async ({ own }) => {
      const body = json({ message: "Go." });
      const stream = await (await own.call("POST", "/conversations/c/messages", body)).text();
      expect(stream).not.toMatch(/[\u0085\u2028\u2029]/u);
      const chat = stockChat(own, await loaded(own));
      expect(textOf(chat.messages[1])).toBe("x\u2028y\u0085z");
      expect(chat.messages[1]?.parts[1]).toMatchObject({
        output: { value: "a\u2028b\u2029c\u0085d" },
      });
    },
  );
});
