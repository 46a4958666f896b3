import { scriptedModel, startRuntime } from "byref/testing";
import { expect, it } from "vitest";
import { agent } from "../src/index.ts";

it("assigns tickets by reference", async () => {
  const model = scriptedModel([
    { tool: "list_tickets", input: {} },
    { tool: "assign_tickets", input: { person: "Ada", ids: "$list_tickets_1[0:10][*].id" } },
    "$assign_tickets_ada.person has $assign_tickets_ada.assigned[0] to $assign_tickets_ada.assigned[-1].",
  ]);
  const runtime = await startRuntime({ agents: [agent], model });
  const chat = runtime.client.conversation("test");
  expect(await chat.send("Give Ada ten tickets.").text()).toBe("Ada has T-1001 to T-1010.");
});

it("lists the tickets of the tenant that asks", async () => {
  const model = scriptedModel([
    { tool: "list_tickets", input: {} },
    "The last is $list_tickets_1[-1].id.",
  ]);
  const runtime = await startRuntime({ agents: [agent], model, authenticator: () => "acme" });
  const chat = runtime.client.conversation("test");
  expect(await chat.send("Which is the last?").text()).toBe("The last is T-1003.");
});
