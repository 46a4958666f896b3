import type { LanguageModel } from "ai";
import { ByrefError } from "../errors.ts";
import type { Agent } from "../turn/agent.ts";
import type { Settings } from "./settings.ts";

/** Who plays what in a turn. */
export interface Cast {
  readonly agent: Agent;
  readonly model: LanguageModel;
  /** Takes out what nobody may be told. */
  readonly redact: (text: string) => string;
}

export interface Company {
  /** The first answers when neither the request nor `AGENT` names one. */
  readonly agents: readonly [Agent, ...Agent[]];
  readonly model: (settings: Settings) => LanguageModel;
}

/** Who answers, and with which model. Throws `unknown_agent`. */
export function castOf({ agents, model }: Company, settings: Settings, name?: string): Cast {
  const wanted = name ?? settings.AGENT ?? agents[0].name;
  const agent = agents.find((candidate) => candidate.name === wanted);
  if (agent === undefined) {
    const known = agents.map((candidate) => candidate.name).join(", ");
    throw new ByrefError("unknown_agent", `There is no agent ${wanted}; there are: ${known}.`);
  }
  const { INSTRUCTIONS } = settings;
  const instructions = INSTRUCTIONS === undefined ? "" : `${INSTRUCTIONS}\n\n`;
  return {
    agent: { ...agent, instructions: `${instructions}${agent.instructions}` },
    model: model(settings),
    redact: redactor(settings),
  };
}

/** An endpoint may repeat the key that it was sent; nobody else is to read it. */
function redactor({ MODEL_API_KEY }: Settings): (text: string) => string {
  if (MODEL_API_KEY === undefined) return (text) => text;
  return (text) => text.replaceAll(MODEL_API_KEY, "[secret]");
}
