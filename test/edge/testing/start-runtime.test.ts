import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import {
  callsOf,
  scriptedModel,
  startRuntime,
  type Step,
} from "../../../packages/testing/src/testing.ts";
import type { Agent } from "../../../src/turn/agent.ts";

const paid: number[] = [];
const pay = tool({
  inputSchema: z.object({ cents: z.number() }),
  execute: ({ cents }) => {
    paid.push(cents);
    return { cents };
  },
});
const till: Agent = { name: "till", description: "Pays.", instructions: "Pay.", tools: { pay } };
const silent: Step = () => new Promise(() => {});

describe("a runtime that a test starts", () => {
  it("crashes again and again, in a tool and in its model", async () => {
    let starts = 0;
    const hang = tool({
      inputSchema: z.object({}),
      execute: () => {
        starts++;
        return new Promise<string>(() => {});
      },
    });
    const model = scriptedModel([{ tool: "hang", input: {} }, silent, "Unknown."]);
    await using runtime = await startRuntime({ agents: [{ ...till, tools: { hang } }], model });
    const answer = runtime.client.conversation("c").send("Hang.").text();
    await vi.waitUntil(() => starts === 1);
    await runtime.restart();
    await vi.waitUntil(() => model.calls.length === 2);
    await runtime.restart();
    expect(await answer).toBe("Unknown.");
    expect(starts).toBe(1);
    const result = callsOf(model)[2]?.messages.find(({ role }) => role === "tool");
    expect(result?.text).toContain("outcome_unknown");
  });

  it("closes while a model is silent, and is empty afterwards", async () => {
    const model = scriptedModel([silent]);
    const runtime = await startRuntime({ agents: [till], model });
    const conversation = runtime.client.conversation("c");
    const answer = conversation.send("Pay.").text();
    await vi.waitUntil(() => model.calls.length === 1);
    await runtime.close();
    expect(await answer).toBe("");
    await expect(conversation.about()).rejects.toMatchObject({ code: "conversation_not_found" });
    await runtime.close();
  });

  it("shares nothing with another one that is open", async () => {
    const [first, second] = await Promise.all(
      ["One.", "Two."].map((words) =>
        startRuntime({ agents: [till], model: scriptedModel([words]) }),
      ),
    );
    const answers = [first, second].map((own) => own?.client.conversation("c").send("?").text());
    expect(await Promise.all(answers)).toEqual(["One.", "Two."]);
    await first?.close();
    const list = await second?.fetch("/conversations");
    expect(await list?.json()).toMatchObject({ conversations: [{ id: "c" }] });
    await second?.close();
  });
});
