import { type DynamicToolUIPart, isToolUIPart, tool, type ToolUIPart } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/byref.ts";
import { clientOf } from "../../support/client.ts";
import { chunksIn, framesIn, json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const page = Array.from({ length: 9 }, (_, line) => `line ${line}\n`).join("");
const DIFF =
  "@@ -2,7 +2,7 @@\n line 1\n line 2\n line 3\n-line 4\n+line FOUR\n line 5\n line 6\n line 7\n";

function publishing() {
  const sent: string[] = [];
  const agent: Agent = {
    name: "editor",
    description: "Edits pages.",
    instructions: "Edit.",
    tools: {
      get_page: tool({ inputSchema: z.object({}), execute: () => page }),
      put_page: tool({
        inputSchema: z.object({ html: z.string() }),
        needsApproval: true,
        execute: ({ html }) => {
          sent.push(html);
          return "saved";
        },
      }),
    },
  };
  return { agent, sent };
}

const edits = [{ find: "line 4", replace: "line FOUR" }];
const fetched: Step = [toolCall("get_page", {}), finish("tool-calls")];
const edited = (more: object = {}): Step => [
  toolCall("edit_variable", { name: "get_page_1", edits, ...more }),
  finish("tool-calls"),
];
const put = (html: string): Step => [toolCall("put_page", { html }), finish("tool-calls")];
const done: Step = [text("Done."), finish()];

async function asked(own: OwnRuntime) {
  const response = await own.call("POST", "/conversations/c/messages", json({ message: "Edit." }));
  return chunksIn(await framesIn(response));
}

async function waitingPart(own: OwnRuntime) {
  const { messages } = await clientOf(own).conversation("c").messages();
  const parts = messages.flatMap((message) => message.parts.filter(isToolUIPart));
  const isWaiting = (part: ToolUIPart | DynamicToolUIPart) => part.state === "approval-requested";
  const part = parts.find(isWaiting);
  if (part?.state !== "approval-requested") throw new Error("No call waits.");
  return part.approval;
}

describe("a call that waits with an edited variable", () => {
  it.each([
    ["in place", { more: {}, name: "get_page_1", version: 2 }],
    ["under another name", { more: { saveAs: "page_2" }, name: "page_2", version: 1 }],
  ])(
    "shows what was edited %s, in the stream and in the messages",
    async (_, { more, name, version }) => {
      const { agent, sent } = publishing();
      const model = scriptedModel([fetched, edited(more), put(`$${name}`), done]);
      await withRuntime({ agents: [agent], model }, async (own) => {
        const diffs = [{ name, version, from: { name: "get_page_1", version: 1 }, diff: DIFF }];
        const chunks = await asked(own);
        const request = chunks.find(({ type }) => type === "tool-approval-request");
        expect(request).toMatchObject({ approvalDescriptor: { diffs } });
        own.wakeAgain();
        const { id, descriptor } = await waitingPart(own);
        expect(descriptor).toMatchObject({ diffs });
        await clientOf(own).conversation("c").approvals.decide(id, { approved: true }).json();
        expect(sent).toEqual([page.replace("line 4", "line FOUR")]);
        // The model receives its own diff of the edit, and not this one as well.
        expect(JSON.stringify(model.calls[3]?.prompt).split("line FOUR")).toHaveLength(3);
      });
    },
  );

  it("shows no content of a sealed value", async () => {
    const { agent } = publishing();
    const edits = [{ find: "line 4", replace: "$key" }];
    const sealing = edited({ edits, saveAs: "page_2" });
    const model = scriptedModel([fetched, sealing, put("$page_2"), done]);
    await withRuntime({ agents: [agent], model }, async (own) => {
      const { variables } = clientOf(own).conversation("c");
      await variables.put("key", "the sealed words", { visibility: "sealed" });
      await asked(own);
      const { descriptor } = await waitingPart(own);
      const { diffs } = descriptor as { diffs: readonly { name: string }[] };
      expect(diffs.find(({ name }) => name === "page_2")).toEqual({
        name: "page_2",
        version: 1,
        from: { name: "get_page_1", version: 1 },
        withheld: "sealed",
      });
    });
  });
});
