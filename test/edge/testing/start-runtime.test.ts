import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { createClient } from "../../../packages/client/src/client.ts";
import {
  callsOf,
  scriptedModel,
  startRuntime,
  type Step,
} from "../../../packages/testing/src/testing.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { ask as deployedAnswer, newId, textOf } from "../../support/edge.ts";

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
  it("answers as its own model says, over HTTP and to its client", async () => {
    const model = scriptedModel([{ tool: "pay", input: { cents: 5 } }, "Paid $pay_1.cents cents."]);
    await using runtime = await startRuntime({ agents: [till], model });
    const turn = runtime.client.conversation("c").send("Pay.");
    expect(await turn.text()).toBe("Paid 5 cents.");
    const response = await runtime.fetch("/agents");
    expect(await response.json()).toMatchObject({ agents: [{ name: "till" }] });
    const { conversations } = await (
      await runtime.fetch("/conversations")
    ).json<{ conversations: unknown[] }>();
    expect(conversations).toMatchObject([{ id: "c" }]);
  });

  it("goes on after a crash, and runs no call twice", async () => {
    paid.length = 0;
    const model = scriptedModel([{ tool: "pay", input: { cents: 7 } }, silent, "Paid."]);
    await using runtime = await startRuntime({ agents: [till], model });
    const answer = runtime.client.conversation("c").send("Pay.").text();
    await vi.waitUntil(() => model.calls.length === 2);
    await runtime.restart();
    expect(await answer).toBe("Paid.");
    expect(paid).toEqual([7]);
  });

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

  it("is redeployed by a restart with other options", async () => {
    const model = scriptedModel(["Old."]);
    await using runtime = await startRuntime({ agents: [till], model });
    const conversation = runtime.client.conversation("c");
    expect(await conversation.send("?").text()).toBe("Old.");
    await runtime.restart({ model: scriptedModel(["New."]) });
    expect(await conversation.send("?").text()).toBe("New.");
    expect((await conversation.messages()).messages).toHaveLength(4);
  });

  it("authenticates as its settings and options say", async () => {
    const key = "key-of-a-test-of-byref";
    const bindings = {
      AUTH: "bearer",
      API_KEYS: JSON.stringify({ [key]: "acme" }),
    };
    const options = { agents: [till] as const, model: scriptedModel(["Hello."]) };
    await using runtime = await startRuntime(options, { bindings });
    await expect(runtime.client.agents()).rejects.toMatchObject({ code: "unauthorized" });
    const client = createClient(runtime.url, {
      auth: key,
      fetch: (url, init) => runtime.fetch(url, init),
    });
    expect(await client.conversation("c").send("?").text()).toBe("Hello.");
    const authenticator = () => "";
    await using closed = await startRuntime({ ...options, authenticator });
    await expect(closed.client.agents()).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("does not affect the deployed application", async () => {
    await using runtime = await startRuntime({ agents: [till], model: scriptedModel(["Mine."]) });
    const id = newId();
    expect(await runtime.client.conversation(id).send("?").text()).toBe("Mine.");
    expect(textOf((await deployedAnswer(id, "Weather in NYC?")).message)).toContain("New York");
  });

  it("needs a namespace whose class createRuntime made", async () => {
    const options = { agents: [till] as const, model: scriptedModel([]) };
    const start = (CONVERSATIONS: unknown) =>
      startRuntime(options, { bindings: { CONVERSATIONS } });
    await expect(start(undefined)).rejects.toThrow("needs the binding CONVERSATIONS");
    await expect(start(env.TABLES)).rejects.toThrow(
      /bound to \w+, which is not a class of createRuntime/,
    );
  });
});
