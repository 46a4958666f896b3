import type { LanguageModel } from "ai";
import type { MakeCodeTool } from "../tool/code/code-tool.ts";
import type { Agent } from "../turn/agent.ts";
import type { SpendLimits } from "../turn/spend/spend.ts";
import type { Equip } from "./turns/chosen-agent.ts";
import type { Retention } from "./conversation-data.ts";
import type { PlanSupport } from "./plans/plan-support.ts";
import { createApp } from "./app.ts";
import { ConversationObject, type ConversationOptions } from "./conversation.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { apiOf } from "./core-api.ts";
import { DirectoryObject } from "./directory/directory.ts";
import { requireDirectory } from "./directory/directory-client.ts";
import { type Authenticator, authenticatorBySettings } from "./auth/authenticator.ts";
import type { Settings } from "./settings.ts";
import type { Transfers } from "./transfer/transfer.ts";

/** What an application is made of. Everything but agents and model is optional; what is not handed in is not built in. */
export interface RuntimeOptions {
  /** The first answers when neither the request nor `AGENT` names one. */
  readonly agents: readonly [Agent, ...Agent[]];
  /** A model, or how to make one from the Worker's settings and bindings; called once a turn. */
  readonly model: LanguageModel | ((settings: Settings, env: Cloudflare.Env) => LanguageModel);
  /** `mcpTools`, for agents with tools of the servers that `MCP_SERVERS` names. Default: none. */
  readonly mcp?: Equip;
  /** `runCode`, for models that may run code where a Worker Loader is bound. Default: none may. */
  readonly code?: (env: Cloudflare.Env) => MakeCodeTool | undefined;
  /** `planSupport()`, for work that is written down before it runs. Default: there are no plans. */
  readonly plans?: PlanSupport;
  /** `transfers`, for conversations that can be exported, imported and forked. Default: none can. */
  readonly transfer?: Transfers;
  /** How much variables may be, and how long things stay. Default: `limits.ts`. */
  readonly retention?: Retention;
  /**
   * How much a turn, a conversation and a tenant may spend: `modelCalls`, `toolCalls`, `tokens`. A limit of
   * the tenant's, in all or `per: "day"` or `"month"`, is kept in `DIRECTORY`. Default: no limit.
   */
  readonly spend?: SpendLimits;
  /** `jwtAuthenticator`, for `AUTH=jwt`. Default: that is refused. */
  readonly jwt?: Authenticator;
  /** Authenticates requests in place of `AUTH`. Default: what `AUTH` names; unset, every request is refused. */
  readonly authenticator?: Authenticator;
}

/** What a Worker exports: its handler, and the classes of its Durable Objects. */
export interface Runtime {
  /** The Worker's default export. */
  readonly worker: ReturnType<typeof createApp>;
  /** One object a conversation; bound as `CONVERSATIONS`. */
  readonly Conversation: new (state: DurableObjectState, env: Cloudflare.Env) => ConversationObject;
  /** One object a tenant; bound as `DIRECTORY`, where conversations are listed or tenants have a spend limit. */
  readonly Directory: typeof DirectoryObject;
}

/**
 * The Worker's default export, and the classes of its Durable Objects: to be exported as `Conversation` and
 * bound as `CONVERSATIONS`; and, where conversations are to be listed, as `Directory`, bound as `DIRECTORY`.
 */
export function createRuntime({
  agents,
  model,
  mcp,
  code,
  plans,
  transfer,
  retention = {},
  spend = {},
  jwt,
  authenticator = authenticatorBySettings(jwt),
}: RuntimeOptions): Runtime {
  const routes = conversationRoutes(apiOf({ plans, transfer }));
  const setup = (env: Cloudflare.Env): ConversationOptions => ({
    agents,
    model: (settings) => {
      // Whoever asks is told before anything streams.
      requireDirectory(spend, env);
      return typeof model === "function" ? model(settings, env) : model;
    },
    mcp,
    code: code?.(env),
    plans,
    transfer,
    retention,
    spendLimits: spend,
    routes,
  });
  class Conversation extends ConversationObject {
    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env, setup(env));
    }
  }
  const worker = createApp({ agents, authenticator, plans, transfer });
  return { worker, Conversation, Directory: DirectoryObject };
}
