import type { Context } from "hono";
import type * as z from "zod";
import type { AppEnv } from "./app-env.ts";
import type { ConversationParts } from "./conversation-parts.ts";
import type { Endpoint } from "./http/endpoint.ts";

/** Endpoints of the HTTP interface: the core ones, or those of an option such as plans. */
export interface Api {
  /** Handled by the Worker. */
  readonly worker?: readonly Endpoint<Context<AppEnv>>[];
  /** Handled by the conversation's object. The Worker forwards requests to them. */
  readonly conversation?: readonly Endpoint<ConversationParts>[];
  /** Also handled by a conversation's object. Only the Worker calls them, so they are not documented. */
  readonly internal?: readonly Endpoint<ConversationParts>[];
  /** Schemas with a name in the OpenAPI document. */
  readonly components: Readonly<Record<string, z.ZodType>>;
}

/** Merges the parts. An endpoint replaces an earlier one with the same route. */
export function mergedApi(parts: readonly (Api | undefined)[]): Required<Api> {
  return {
    worker: byRoute(parts.flatMap((part) => part?.worker ?? [])),
    conversation: byRoute(parts.flatMap((part) => part?.conversation ?? [])),
    internal: parts.flatMap((part) => part?.internal ?? []),
    components: Object.assign({}, ...parts.map((part) => part?.components)) as Api["components"],
  };
}

function byRoute<Target>(endpoints: readonly Endpoint<Target>[]): readonly Endpoint<Target>[] {
  return [...new Map(endpoints.map((one) => [`${one.method} ${one.path}`, one])).values()];
}
