import { routePath } from "hono/route";
import { Hono } from "hono/tiny";
import type {
  Api,
  GatewaySupport,
  PlanSupport,
  QuerySupport,
  Support,
} from "./conversation-parts.ts";
import type { ObjectContext } from "./conversation-of.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { placeIn } from "./log-failure.ts";
import { problem } from "./http/problem.ts";
import * as schemas from "./openapi/schemas.ts";
import { conversationEndpoints, titleBody, userDeletionEndpoint } from "./routes/conversations.ts";
import { approvalEndpoint, messageEndpoints } from "./routes/messages.ts";
import { changesBody, interpolateBody, variableEndpoints } from "./routes/variables.ts";
import {
  directoryEndpoint,
  tenantDeletionEndpoint,
  ticketBody,
  ticketEndpoint,
} from "./routes/worker.ts";
import { approvalBody, chatBody, messageBody } from "./turns/turn-request.ts";

export interface ApiOptions {
  /** `planSupport()`, for plans that are stored before they run. Default: no plans. */
  readonly plans?: PlanSupport;
  /** `transfers`, for export, import and fork of conversations. Default: not supported. */
  readonly transfer?: Support;
  /** `fileEndpoints`, which serve and save the files of conversations. Default: not supported. */
  readonly files?: Support;
  /**
   * `queries`, for SQL over variables, by models and over HTTP, where `TABLES` is bound to the class `Tables`.
   * Default: not supported.
   */
  readonly queries?: QuerySupport;
  /**
   * `mcpGateway`, which makes each conversation an MCP server at `/conversations/:id/mcp`. Default: not
   * supported.
   */
  readonly gateway?: GatewaySupport;
}

/** The HTTP interface of an application, except the Worker's own endpoints (`workerApi`). */
export function apiOf({ plans, transfer, files, queries, gateway }: ApiOptions): Required<Api> {
  // With plans, the endpoint of approvals also decides on their gates.
  const decisions = plans?.api ?? { conversation: [approvalEndpoint] };
  const optional = [files?.api, queries?.api, gateway?.api, decisions];
  const api = mergedApi([transfer?.api, coreApi, ...optional]);
  return { ...api, conversation: [...api.conversation, ...userEndpoints(api.conversation)] };
}

/** The values of who asks have the endpoints of a conversation's variables, and its export, in their own object. */
function userEndpoints(all: Required<Api>["conversation"]): Required<Api>["conversation"] {
  const own = all.flatMap((one): typeof all => {
    if (!/^\/conversations\/:id\/(?:variables|export)/u.test(one.path)) return [];
    const path = one.path.replace("/conversations/:id", "/user");
    const handle: typeof one.handle = ({ params, ...incoming }, parts) =>
      one.handle({ ...incoming, params: { ...params, id: "user" } }, parts);
    return [{ ...one, path, summary: `${one.summary}: of the user who asks`, handle }];
  });
  return [...own, userDeletionEndpoint];
}

const coreApi: Api = {
  worker: [directoryEndpoint, tenantDeletionEndpoint, ticketEndpoint],
  conversation: [...conversationEndpoints, ...messageEndpoints, ...variableEndpoints],
  components: {
    ChatBody: chatBody,
    MessageBody: messageBody,
    TitleBody: titleBody,
    ApprovalBody: approvalBody,
    TicketBody: ticketBody,
    ChangesBody: changesBody,
    InterpolateBody: interpolateBody,
    ...Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [
        name.replace(/^./u, (letter) => letter.toUpperCase()),
        schema,
      ]),
    ),
  },
};

/** Merges the parts. No two endpoints have one route. */
export function mergedApi(parts: readonly (Api | undefined)[]): Required<Api> {
  return {
    worker: parts.flatMap((part) => part?.worker ?? []),
    tenant: parts.flatMap((part) => part?.tenant ?? []),
    conversation: parts.flatMap((part) => part?.conversation ?? []),
    internal: parts.flatMap((part) => part?.internal ?? []),
    components: Object.assign(
      {},
      ...parts.map((part) => part?.components),
    ) as Required<Api>["components"],
  };
}

/** The router that all objects of a kind share. It receives the parts of one of them. */
export function routesOf<Parts extends { readonly context: ObjectContext }>(
  endpoints: readonly Endpoint<Parts>[],
) {
  const routes = new Hono<{ Bindings: Parts }>();
  for (const endpoint of endpoints) {
    routes.on(endpoint.method, endpoint.path, ({ req, env }) => {
      const text = () => req.raw.text();
      return endpoint.handle({ request: req.raw, params: req.param(), text }, env);
    });
  }
  routes.onError((error, one) => {
    return problem(error, placeIn(one.env.context, `${one.req.method} ${routePath(one)}`));
  });
  return routes;
}
