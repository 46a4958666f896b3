import type { AgentContext, AgentDefinition } from "./agent-types.ts";
import type { LanguageModel } from "ai";
import type { RecordsFormat } from "../store/bytes/receive.ts";
import type { SpendLimits } from "../turn/spend/spend.ts";
import type { MakeCodeTool } from "../turn/toolbox.ts";
import type { Equip } from "./turns/chosen-agent.ts";
import type { RetentionOption } from "./conversation-context.ts";
import { createApp } from "./app.ts";
import { ConversationObject, type ConversationOptions } from "./conversation.ts";
import { type ApiOptions, apiOf, routesOf } from "./api.ts";
import { DirectoryObject } from "./directory/directory.ts";
import { requireDirectory } from "./directory/directory-client.ts";
import { type Authenticator, authenticatorBySettings } from "./auth/authenticator.ts";
import type { PageOptions } from "./page-options.ts";
import { requireNumbers, type Settings, settingsOf } from "./settings.ts";

/**
 * Options of an application. All but agents and model are optional; features that are not passed are not
 * bundled.
 */
export interface RuntimeOptions extends ApiOptions {
  /** The first agent answers if neither the request nor `AGENT` names one. */
  readonly agents: readonly [AgentDefinition, ...AgentDefinition[]];
  /**
   * A model, or a function that creates one from the Worker's settings and bindings, for who asks; called once a
   * turn, and without a context where only the model's name is shown.
   */
  readonly model:
    | LanguageModel
    | ((settings: Settings, env: Cloudflare.Env, context?: AgentContext) => LanguageModel);
  /** `mcpTools`, for agents with tools of the servers in `MCP_SERVERS`. Default: none. */
  readonly mcp?: Equip;
  /** `runCode`, for models that may run code where a Worker Loader is bound. Default: no model may. */
  readonly code?: (env: Cloudflare.Env) => MakeCodeTool | undefined;
  /** `csvRecords`, which reads CSV as an array of records. Default: CSV is stored as bytes. */
  readonly csv?: RecordsFormat;
  /**
   * Size limit of variables, and retention times, or a function of the tenant and the conversation that returns
   * them. Default: `limits.ts`.
   */
  readonly retention?: RetentionOption;
  /**
   * Spend limits of a turn, a conversation and a tenant: `modelCalls`, `toolCalls`, `tokens`. A tenant's
   * limit, in total or `per: "day"` or `"month"`, is stored in `DIRECTORY`. Default: no limit.
   */
  readonly spend?: SpendLimits;
  /** `jwtAuthenticator`, for `AUTH=jwt`. Default: `AUTH=jwt` is rejected. */
  readonly jwt?: Authenticator;
  /** How the page presents the application: title, colours, example questions, first agent. */
  readonly page?: PageOptions;
  /** Replaces `AUTH`. Default: the authenticator that `AUTH` names; if unset, every request is rejected. */
  readonly authenticator?: Authenticator;
}

/** The exports of a Worker: its handler, and the classes of its Durable Objects. */
export interface Runtime {
  /** The Worker's default export. */
  readonly worker: ReturnType<typeof createApp>;
  /** One object for each conversation; bound as `CONVERSATIONS`. */
  readonly Conversation: new (state: DurableObjectState, env: Cloudflare.Env) => ConversationObject;
  /**
   * One object for each tenant; bound as `DIRECTORY`. Needed to list conversations, to limit a tenant's spend,
   * and for programs.
   */
  readonly Directory: new (state: DurableObjectState, env: Cloudflare.Env) => DirectoryObject;
}

/**
 * Creates the Worker's default export and the classes of its Durable Objects. Export `Conversation` and bind
 * it as `CONVERSATIONS`. To list conversations, export `Directory` and bind it as `DIRECTORY`.
 */
export function createRuntime({
  agents,
  model,
  code,
  retention = {},
  spend = {},
  page,
  jwt,
  authenticator = authenticatorBySettings(jwt),
  ...features
}: RuntimeOptions): Runtime {
  const api = apiOf(features);
  const routes = routesOf([...api.conversation, ...api.internal]);
  const tenant = { routes: routesOf(api.tenant), open: features.plans?.openTenant };
  const modelFor = (settings: Settings, env: Cloudflare.Env, asked?: AgentContext) =>
    typeof model === "function" ? model(settings, env, asked) : model;
  const setup = (env: Cloudflare.Env): ConversationOptions => ({
    ...features,
    agents,
    model: (settings, asked) => {
      // Fails before a stream begins, so that the client receives a status.
      const { turn = {}, conversation = {}, tenant: { per: _per, ...tenant } = {} } = spend;
      requireNumbers("spend.turn", turn);
      requireNumbers("spend.conversation", conversation);
      requireNumbers("spend.tenant", tenant);
      requireDirectory(spend, env);
      return modelFor(settings, env, asked);
    },
    code: code?.(env),
    retention,
    spendLimits: spend,
    routes,
  });
  class Conversation extends ConversationObject {
    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env, setup(env));
    }
  }
  class Directory extends DirectoryObject {
    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env, tenant);
    }
  }
  const worker = createApp({
    ...features,
    agents,
    page,
    model: (env) => modelFor(settingsOf(env), env as Cloudflare.Env),
    authenticator,
  });
  return { worker, Conversation, Directory };
}
