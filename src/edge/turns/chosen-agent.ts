import type { AgentContext, AgentDefinition } from "../agent-types.ts";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import { ByrefError } from "../../errors.ts";
import { compact } from "../../value/json.ts";
import { type Agent, resolveAgent } from "../../turn/agent.ts";
import { type Equipped, withOwnTools } from "../../turn/delegate-tool.ts";
import { unlessAborted } from "../../value/deadline.ts";
import type { Settings } from "../settings.ts";

/** The agent of a turn, and its model. */
export interface ChosenAgent {
  readonly agent: AgentDefinition;
  readonly model: LanguageModel;
  /** Who asks. */
  readonly asked: AgentContext;
  /**
   * Calls the functions of the agent's definition, and adds the tools of its MCP servers, which are listed now.
   * Rejects with the error of a function.
   */
  readonly equip: (signal: AbortSignal, turn?: string) => Promise<Equipped>;
  /** Removes secrets from an error's text. */
  readonly redact: (text: string) => string;
}

/** Adds the tools of the servers that the settings name for the agent. Never rejects. */
export type Equip = (agent: Agent, settings: Settings, signal: AbortSignal) => Promise<Equipped>;

/** The agents of an application, and their model. */
export interface AgentSetup {
  /** The first agent answers if neither the request nor `AGENT` names one. */
  readonly agents: readonly [AgentDefinition, ...AgentDefinition[]];
  readonly model: (settings: Settings, asked: AgentContext) => LanguageModel;
  /** Absent: `MCP_SERVERS` cannot be set. A client for MCP adds up to 80 KiB to the Worker. */
  readonly mcp?: Equip | undefined;
}

/** The named agent, or the default one. Throws `not_found` and `bad_configuration`. */
export function chooseAgent(
  agentSetup: AgentSetup,
  settings: Settings,
  { name: given, asked }: AgentChoice,
): ChosenAgent {
  const { agents, model } = agentSetup;
  const name = given ?? settings.AGENT ?? agents[0].name;
  const agent = agentNamed(agents, name);
  const equip = equipper(agentSetup, settings);
  const { MODEL_API_KEY: key } = settings;
  return {
    agent,
    model: model(settings, asked),
    asked,
    equip: async (signal, turn) => {
      const resolving = resolveAgent(agent, { ...asked, ...compact({ turn }) });
      const resolved = await unlessAborted(resolving, signal).catch((error: unknown) => {
        // What is stopped calls no tool, but it is ended as what it is.
        if (signal.aborted) return { name, description: "", instructions: "", tools: {} };
        throw error;
      });
      const { INSTRUCTIONS: start } = settings;
      const instructions = `${start}\n\n${resolved.instructions}`;
      return equip(start === undefined ? resolved : { ...resolved, instructions }, signal);
    },
    // An endpoint may repeat the model's key in an error.
    redact: (text) => (key === undefined ? text : text.replaceAll(key, "[secret]")),
  };
}

/** Which agent, and for whom. */
export interface AgentChoice {
  /** Default: the one in `AGENT`, or the first. */
  readonly name?: string | undefined;
  readonly asked: AgentContext;
}

/** Throws `not_found`. */
export function agentNamed(agents: readonly AgentDefinition[], name: string): AgentDefinition {
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const known = agents.map((candidate) => candidate.name).join(", ");
  throw new ByrefError("not_found", `There is no agent ${name}; there are: ${known}.`);
}

/**
 * Stands in for an agent that is not available, or that needs something which is not, in a turn or run that continues:
 * each call of its model fails with the error, which ends the turn or run.
 */
export function fallbackFor(
  { name, asked }: AgentChoice & { readonly name: string },
  error: unknown,
): ChosenAgent {
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
  const equip = () => Promise.resolve(withOwnTools(agent));
  return { agent, model, asked, equip, redact: (text) => text };
}

function equipper(
  { mcp }: AgentSetup,
  settings: Settings,
): (agent: Agent, signal: AbortSignal) => Promise<Equipped> {
  if (mcp !== undefined) return (agent, signal) => mcp(agent, settings, signal);
  if (settings.MCP_SERVERS !== undefined) {
    const message = "MCP_SERVERS is set, and MCP is not built into this Worker.";
    throw new ByrefError("bad_configuration", message);
  }
  return async (agent) => {
    if (agent.mcpServers !== undefined) {
      const message = `${agent.name} has mcpServers, and MCP is not built into this Worker.`;
      throw new ByrefError("bad_configuration", message);
    }
    return withOwnTools(agent);
  };
}
