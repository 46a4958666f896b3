import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { finish, text, toolCall } from "../../src/testing.ts";
import { Conversation, shownText } from "../support/turn.ts";

afterEach(() => void vi.unstubAllGlobals());

it("the guide's tool returns a list whose ids another tool receives", async () => {
  const customers = Array.from({ length: 100 }, (_, at) => ({ id: `c_${at}`, name: "Ada" }));
  vi.stubGlobal("fetch", async () => Response.json(customers));
  let received: readonly string[] = [];
  const tools = {
    // --- a tool
    list_customers: tool({
      description: "Lists all customers.",
      inputSchema: z.object({}),
      execute: async () => (await fetch("https://crm.example/customers")).json(),
    }),
    // ---
    write_to: tool({
      inputSchema: z.object({ ids: z.array(z.string()) }),
      execute: ({ ids }) => ((received = ids), ids.length),
    }),
  };
  const chat = new Conversation({
    agent: { name: "crm", description: "", instructions: "", tools },
  });
  const turn = await chat.say({
    steps: [
      [toolCall("list_customers", {}), finish("tool-calls")],
      [toolCall("write_to", { ids: "$list_customers_1[*].id" }), finish("tool-calls")],
      [text("Wrote to $write_to_1."), finish()],
    ],
  });
  expect(shownText(turn.chunks)).toBe("Wrote to 100.");
  expect(received).toEqual(customers.map(({ id }) => id));
});
