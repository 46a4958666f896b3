import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../../src/byref.ts";
import { finish, type Step, text, toolCall } from "../../../support/scripted-model.ts";
import {
  promptIn,
  putValue,
  ROOT,
  turnOf,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";
import { textIn } from "../../../support/turn-client.ts";

const agentOf = (name: string, about: Partial<Agent> = {}): Agent => ({
  name,
  description: `Is ${name}.`,
  instructions: `You are ${name}.`,
  tools: {},
  ...about,
});

const asks = (agent: string, task: string): Step => [
  toolCall("delegate", { agent, task }),
  finish("tool-calls"),
];
const says = (said: string): Step => [text(said), finish()];

describe("delegate", () => {
  it("gives the other agent the task, and not the conversation", () =>
    withPlanner(
      {
        agent: { delegates: ["researcher"] },
        agents: [agentOf("researcher")],
        steps: [asks("researcher", "Find the number."), says("It is 4711."), says("Found.")],
      },
      async ({ own, model }) => {
        const shown = textIn(await turnOf(own, "A private question."));
        expect(shown).toBe("Found.");
        expect(model.calls).toHaveLength(3);
        expect(promptIn(model, 1)).toContain("You are researcher.");
        expect(promptIn(model, 1)).toContain("Find the number.");
        expect(promptIn(model, 1)).not.toContain("A private question.");
      },
    ));

  it("what the other found comes back as a variable", () =>
    withPlanner(
      {
        agent: { delegates: ["researcher"] },
        agents: [agentOf("researcher")],
        steps: [asks("researcher", "Find it."), says(`Long: ${"x".repeat(3_000)}`), says("Ok.")],
      },
      async ({ own, model }) => {
        await turnOf(own, "Go.");
        const response = await own.call("GET", `${ROOT}/variables`);
        const { variables } = await response.json<{ variables: { name: string }[] }>();
        expect(variables).toHaveLength(1);
        const name = variables[0]?.name ?? "";
        expect(String(await valueOf(own, name))).toContain("Long: xxx");
        expect(promptIn(model, 2)).toContain(name);
        expect(promptIn(model, 2)).not.toContain("x".repeat(1_000));
      },
    ));

  it("both share the variables", () => {
    const given: unknown[] = [];
    const note: Tool = tool({
      inputSchema: z.object({ value: z.any() }),
      execute: ({ value }): unknown => {
        given.push(value);
        return { noted: "deep" };
      },
    });
    return withPlanner(
      {
        agent: { delegates: ["researcher"] },
        agents: [agentOf("researcher", { tools: { note } })],
        steps: [
          asks("researcher", "Note $orders."),
          [toolCall("note", { value: "$orders[0].id" }), finish("tool-calls")],
          says("Noted."),
          [toolCall("echo", { value: "$note_1" }), finish("tool-calls")],
          says("Ok."),
        ],
      },
      async ({ own }) => {
        await putValue(own, "orders", [{ id: 7 }]);
        await turnOf(own, "Go.");
        expect(given).toEqual([7]);
      },
    );
  });

  it("is no tool of an agent that may ask nobody", () =>
    withPlanner(
      { agents: [agentOf("researcher")], steps: [says("Ok.")] },
      async ({ own, model }) => {
        await turnOf(own, "Go.");
        expect(model.calls[0]?.tools?.map(({ name }) => name)).not.toContain("delegate");
      },
    ));

  it("asks nobody whom the agent may not ask", () =>
    withPlanner(
      {
        agent: { delegates: ["researcher"] },
        agents: [agentOf("researcher"), agentOf("other")],
        steps: [asks("other", "Do it."), says("I could not.")],
      },
      async ({ own, model }) => {
        await turnOf(own, "Go.");
        expect(model.calls).toHaveLength(2);
        expect(promptIn(model, 1)).not.toContain("You are other.");
      },
    ));

  it("ends at its depth: the chain does not go on for ever", () => {
    const loop = { delegates: ["loop"] };
    const steps: readonly Step[] = [
      ...Array.from({ length: 4 }, (_, n) => asks("loop", `Task ${n}`)),
      ...Array.from({ length: 8 }, (_, n) => says(`Said ${n}`)),
    ];
    return withPlanner(
      { agent: loop, agents: [agentOf("loop", loop)], steps },
      async ({ own, model }) => {
        const shown = textIn(await turnOf(own, "Go."));
        expect(shown).toMatch(/^Said/);
        // The first and three behind it; the last one's question is refused, and each answers.
        expect(model.calls).toHaveLength(8);
      },
    );
  });
});
