import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, shownText } from "../support/turn.ts";

it("the guide's tool returns a list whose ids another tool receives", async () => {
  let received: readonly string[] = [];
  const tools = {
    // --- a tool
    list_customers: tool({
      description: "Lists all customers.",
      inputSchema: z.object({}),
      execute: () => Array.from({ length: 100 }, (_, n) => ({ id: `C-${n}`, vip: n % 5 === 0 })),
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
  expect(received).toEqual(Array.from({ length: 100 }, (_, n) => `C-${n}`));
});
