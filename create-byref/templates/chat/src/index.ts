import { tool } from "ai";
import { type Agent, createRuntime, csvRecords, modelFromSettings, queries } from "byref";
import { demoModels } from "byref/demo";
import { openaiCompatibleModels } from "byref/openai-compatible";
import { workersAiModels } from "byref/workers-ai";
import * as z from "zod";

/** Put your own data here. */
const tickets = Array.from({ length: 500 }, (_, index) => ({
  id: `T-${1001 + index}`,
  status: index % 3 === 0 ? "open" : "closed",
  country: ["DE", "FR", "US", "JP"][index % 4],
  hours: (index * 7) % 40,
}));

/** Each tenant has its own; requests without a key, which your own machine accepts, are of the tenant `local`. */
const ticketsOf: Readonly<Record<string, typeof tickets>> = {
  local: tickets,
  acme: tickets.slice(0, 3),
};

export const agent: Agent = {
  name: "helpdesk",
  description: "Answers questions about tickets.",
  instructions: "You work at a help desk.",
  tools: {
    list_tickets: tool({
      description: "Lists all tickets.",
      inputSchema: z.object({}),
      // From the key or token of the request, never from the model.
      contextSchema: z.object({ tenant: z.string() }),
      execute: (_, { context: { tenant } }) => ticketsOf[tenant] ?? [],
    }),
    // The model passes "$list_tickets_1[0:10][*].id", and never sees the ids.
    assign_tickets: tool({
      description: "Assigns tickets to a person.",
      inputSchema: z.object({ person: z.string(), ids: z.array(z.string()) }),
      execute: ({ person, ids }) => ({ person, assigned: ids }),
    }),
  },
};

const runtime = createRuntime({
  agents: [agent],
  model: modelFromSettings(demoModels, openaiCompatibleModels, workersAiModels),
  queries,
  csv: csvRecords,
  page: {
    title: "Help desk",
    lead: "Ask about the tickets, or drop a CSV file here and ask about that.",
    examples: [{ title: "500 tickets", question: "How many tickets are open?" }],
  },
});

export class Conversation extends runtime.Conversation {}
export class Directory extends runtime.Directory {}
export { Tables } from "byref";
export default runtime.worker;
