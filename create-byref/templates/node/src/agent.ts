import { type LanguageModel, tool, ToolLoopAgent } from "ai";
import { MemoryStore, variableTools, withToolVariables } from "byref/agent";
import * as z from "zod";

/** Put your own data here. */
const tickets = Array.from({ length: 500 }, (_, index) => ({
  id: `T-${1001 + index}`,
  status: index % 3 === 0 ? "open" : "closed",
  country: ["DE", "FR", "US", "JP"][index % 4],
  hours: (index * 7) % 40,
}));

const tools = {
  list_tickets: tool({
    description: "Lists all tickets.",
    inputSchema: z.object({}),
    execute: () => tickets,
  }),
  // The model passes "$list_tickets_1[0:10][*].id", and never sees the ids.
  assign_tickets: tool({
    description: "Assigns tickets to a person.",
    inputSchema: z.object({ person: z.string(), ids: z.array(z.string()) }),
    execute: ({ person, ids }) => ({ person, assigned: ids }),
  }),
};

/** Creates an agent for one conversation, with its variables in memory. */
export function helpdesk(model: LanguageModel) {
  const store = new MemoryStore();
  const all = { ...tools, ...variableTools({ store }) };
  const instructions = "You work at a help desk.";
  return withToolVariables(new ToolLoopAgent({ model, instructions, tools: all }), { store });
}
