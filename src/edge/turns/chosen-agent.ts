import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import { ByrefError } from "../../errors.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Settings } from "../settings.ts";

/** The agent of a turn, and its model. */
export interface ChosenAgent {
  readonly agent: Agent;
  readonly model: LanguageModel;
  /** Adds the tools of the agent's MCP servers, which are listed now. Never rejects. */
  readonly equip: (signal: AbortSignal) => Promise<Equipped>;
  /** Removes secrets from an error's text. */
  readonly redact: (text: string) => string;
}

/** An agent with the tools of one turn. */
export interface Equipped {
  readonly agent: Agent;
  /** Ends the connections. Never rejects. No tool may be called afterwards. */
  close(): Promise<void>;
}

/** Adds the tools of the servers that the settings name for the agent. Never rejects. */
export type Equip = (agent: Agent, settings: Settings, signal: AbortSignal) => Promise<Equipped>;

/** The agents of an application, and their model. */
export interface AgentSetup {
  /** The first agent answers if neither the request nor `AGENT` names one. */
  readonly agents: readonly [Agent, ...Agent[]];
  readonly model: (settings: Settings) => LanguageModel;
  /** Absent: `MCP_SERVERS` cannot be set. A client for MCP adds up to 80 KiB to the Worker. */
  readonly mcp?: Equip | undefined;
}

/** The named agent, or the default one. Throws `unknown_agent` and `bad_configuration`. */
export function chooseAgent(
  agentSetup: AgentSetup,
  settings: Settings,
  name?: string,
): ChosenAgent {
  const { agents, model } = agentSetup;
  const wanted = name ?? settings.AGENT ?? agents[0].name;
  const agent = agentNamed(agents, wanted);
  const { INSTRUCTIONS } = settings;
  const instructions = INSTRUCTIONS === undefined ? "" : `${INSTRUCTIONS}\n\n`;
  const instructed = { ...agent, instructions: `${instructions}${agent.instructions}` };
  return {
    agent: instructed,
    model: model(settings),
    equip: equipper(instructed, agentSetup, settings),
    redact: redactor(settings),
  };
}

/** Throws `unknown_agent`. */
export function agentNamed(agents: readonly Agent[], name: string): Agent {
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const known = agents.map((candidate) => candidate.name).join(", ");
  throw new ByrefError("unknown_agent", `There is no agent ${name}; there are: ${known}.`);
}

/**
 * Like `chooseAgent`, for a turn or run that continues. If its agent, or something that the agent needs, is
 * unavailable, each model call fails with that error, which ends the turn or run.
 */
export function chooseAgentOrFallback(
  agentSetup: AgentSetup,
  settings: () => Settings,
  name: string,
): ChosenAgent {
  try {
    return chooseAgent(agentSetup, settings(), name);
  } catch (error) {
    return fallbackFor(name, error);
  }
}

/** Replaces an agent that is not available: each call of its model fails with the error. */
function fallbackFor(name: string, error: unknown): ChosenAgent {
  const agent: Agent = { name, description: "", instructions: "", tools: {} };
  const fail = () => Promise.reject(error);
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "byref",
    modelId: "none",
    supportedUrls: {},
    doGenerate: fail,
    doStream: fail,
  };
  const equip = () => Promise.resolve({ agent, close: () => Promise.resolve() });
  return { agent, model, equip, redact: (text) => text };
}

function equipper(agent: Agent, { mcp }: AgentSetup, settings: Settings): ChosenAgent["equip"] {
  if (mcp !== undefined) return (signal) => mcp(agent, settings, signal);
  if (settings.MCP_SERVERS !== undefined) {
    const message = "MCP_SERVERS is set, and MCP is not built into this Worker.";
    throw new ByrefError("bad_configuration", message);
  }
  return () => Promise.resolve({ agent, close: () => Promise.resolve() });
}

/** Removes the model's API key from texts: an endpoint may repeat it in an error. */
function redactor({ MODEL_API_KEY }: Settings): (text: string) => string {
  if (MODEL_API_KEY === undefined) return (text) => text;
  return (text) => text.replaceAll(MODEL_API_KEY, "[secret]");
}
