import type { Context } from "hono";
import type * as z from "zod";
import type { AppEnv } from "./app-env.ts";
import type { ConversationParts } from "./conversation-parts.ts";
import type { Endpoint } from "./http/endpoint.ts";

/** A part of the HTTP interface: that of every application, or of an option such as plans. */
export interface Api {
  /** Answered by the Worker. */
  readonly worker?: readonly Endpoint<Context<AppEnv>>[];
  /** Answered by the conversation's object. The Worker forwards requests to them. */
  readonly conversation?: readonly Endpoint<ConversationParts>[];
  /** Answered by a conversation's object as well. Only the Worker calls them: they are not documented. */
  readonly internal?: readonly Endpoint<ConversationParts>[];
  /** Schemas that have a name in the OpenAPI document. */
  readonly components: Readonly<Record<string, z.ZodType>>;
}

/** An endpoint takes the place of an earlier one at the same route. */
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
