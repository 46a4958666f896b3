import type * as z from "zod";
import { type Api, mergedApi } from "./api.ts";
import * as schemas from "./openapi/schemas.ts";
import type { PlanSupport } from "./plans/plan-support.ts";
import { conversationEndpoints, titleBody } from "./routes/conversations.ts";
import { directoryEndpoint } from "./routes/directory.ts";
import { messageEndpoints } from "./routes/messages.ts";
import { ticketBody, ticketEndpoint } from "./routes/tickets.ts";
import { changesBody, interpolateBody, variableEndpoints } from "./routes/variables.ts";
import type { Transfers } from "./transfer/transfer.ts";
import { approvalBody, chatBody, messageBody } from "./turns/turn-request.ts";

/** Options of an application that add endpoints. */
export interface ApiOptions {
  readonly plans?: PlanSupport | undefined;
  readonly transfer?: Transfers | undefined;
}

/** The HTTP interface of an application, except the Worker's own endpoints (`workerApi`). */
export function apiOf({ plans, transfer }: ApiOptions): Required<Api> {
  return mergedApi([transfer?.api, coreApi, plans?.api]);
}

/** The endpoints of every application. */
const coreApi: Api = {
  worker: [directoryEndpoint, ticketEndpoint],
  conversation: [...conversationEndpoints, ...messageEndpoints, ...variableEndpoints],
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
