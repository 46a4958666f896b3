import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import type { ConversationStatus } from "./conversation-of.ts";
import type { Description, Endpoint } from "./http/endpoint.ts";
import { waitingCalls } from "../turn/waiting-calls.ts";
import type {
  ConversationContext,
  ConversationMcp,
  ConversationPlans,
  ConversationQueries,
  Feature,
} from "./conversation-context.ts";
import type { TenantContext, TenantFeature, TenantParts } from "./directory/directory.ts";
import type { Sockets } from "./sockets/sockets.ts";
import type { Turns } from "./turns/turns.ts";

export interface ConversationParts {
  readonly context: ConversationContext;
  readonly turns: Turns;
  readonly sockets: Sockets;
}

/** Undefined for a conversation that does not exist. */
export function statusOf({
  context: { data, queue, plans },
}: ConversationParts): ConversationStatus | undefined {
  if (data === undefined) return undefined;
  if (queue.isRunning) return "running";
  const isWaiting = waitingCalls(data.history.newest()).size > 0;
  return isWaiting || plans?.isWaiting === true ? "waiting" : "idle";
}

/** Endpoints of the HTTP interface: the core ones, or those of an option such as plans. */
export interface Api {
  /** Handled by the Worker. */
  readonly worker?: readonly Endpoint<Context<AppEnv>>[];
  /** Handled by the tenant's object, which needs `DIRECTORY`. The Worker forwards requests to them. */
  readonly tenant?: readonly Endpoint<TenantParts>[];
  /** Handled by the conversation's object. The Worker forwards requests to them. */
  readonly conversation?: readonly Endpoint<ConversationParts>[];
  /** Also handled by a conversation's object. Only the Worker calls them, so they are not documented. */
  readonly internal?: readonly Endpoint<ConversationParts>[];
  /** Schemas with a name in the OpenAPI document. */
  readonly components?: Readonly<Record<string, Description>>;
}

/** What an application passes to `createRuntime` for an optional feature. */
export interface Support {
  readonly api: Api;
}

export interface PlanSupport extends Support, Feature<ConversationPlans> {
  /** What plans add to the object of a tenant. */
  readonly openTenant: (context: TenantContext) => TenantFeature;
}

/** SQL over variables: the tool `query_variables`, and its endpoint. Needs the binding `TABLES`. */
export type QuerySupport = Support & Feature<ConversationQueries>;

export interface GatewaySupport extends Support, Feature<ConversationMcp> {
  /** Returns `www-authenticate` of a 401 at this address; undefined elsewhere. */
  readonly challenge: (request: Request, env: AppEnv["Bindings"]) => string | undefined;
}
