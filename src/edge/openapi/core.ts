import type * as z from "zod";
import { titleBody } from "../routes/conversations.ts";
import { changesBody, interpolateBody } from "../routes/variables.ts";
import { approvalBody, chatBody, messageBody } from "../turns/turn-request.ts";
import { ticketBody } from "../routes/tickets.ts";
import { conversationOperations } from "./conversation-operations.ts";
import type { Described } from "./document.ts";
import * as schemas from "./schemas.ts";
import { variableOperations } from "./variable-operations.ts";

/** What every app has. */
export const coreApi: Described = {
  operations: { ...conversationOperations, ...variableOperations },
  components: {
    ChatBody: chatBody,
    MessageBody: messageBody,
    TitleBody: titleBody,
    ApprovalBody: approvalBody,
    TicketBody: ticketBody,
    ChangesBody: changesBody,
    InterpolateBody: interpolateBody,
    ...named(schemas),
  },
};

function named(all: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(all).map(([name, schema]) => [name[0]?.toUpperCase() + name.slice(1), schema]),
  );
}
