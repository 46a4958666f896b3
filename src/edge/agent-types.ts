import type * as turn from "../turn/agent.ts";

/** An agent of a Worker. */
export type AgentDefinition = turn.AgentDefinition<Cloudflare.Env>;

/** What the functions of a Worker's agents, and their tools, learn about a question. */
export type AgentContext = turn.AgentContext<Cloudflare.Env>;
