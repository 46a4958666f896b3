import type { UIMessageChunk } from "ai";
import * as z from "zod";
import { ByrefError } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { CallOptions } from "../../src/tool/wrapped-tool.ts";
import { Account } from "../../src/turn/spend/account.ts";
import type { SpendLimits } from "../../src/turn/spend/spend.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { type CalledAgent, type FindAgent, withOwnTools } from "../../src/turn/delegate-tool.ts";
import { askAgent, type AskModel } from "../../src/turn/sub-turn.ts";
import type { TurnContext } from "../../src/turn/turn-context.ts";
import {
  finish,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";
import { Conversation, type ConversationOptions, START_MS } from "./turn.ts";
import { toolOf } from "./tool-of.ts";

/** An agent, and the steps of its model. */
export interface Role extends Partial<Omit<Agent, "name">> {
  readonly steps: readonly Step[];
}

/** An agent that can be called, with its own tools only. */
export function callable(agent: Agent, model: ScriptedModel): CalledAgent {
  return { agent, model, equip: () => Promise.resolve(withOwnTools(agent)) };
}

/** Agents by name, each with its own scripted model. */
export function team(roles: Readonly<Record<string, Role>>) {
  const models = new Map<string, ScriptedModel>();
  const agents = new Map<string, CalledAgent>();
  for (const [name, { steps, ...about }] of Object.entries(roles)) {
    const model = scriptedModel(steps);
    models.set(name, model);
    const agent = { name, description: `Is ${name}.`, instructions: `You are ${name}.`, tools: {} };
    agents.set(name, callable({ ...agent, ...about }, model));
  }
  const findAgent: FindAgent = (name) => {
    const found = agents.get(name);
    if (found === undefined) throw new ByrefError("not_found", `There is no agent ${name}.`);
    return found;
  };
  /** Returns the prompts of an agent's model, call by call. */
  const callsOf = (name: string) => models.get(name)?.calls ?? [];
  return { findAgent, callsOf };
}

interface AskingOptions extends Role {
  readonly store?: VariableStore;
  readonly spendLimits?: SpendLimits;
  readonly signal?: AbortSignal;
  readonly more?: Partial<CalledAgent>;
  readonly turn?: Partial<TurnContext>;
}

const ANYONE: Agent = { name: "anyone", description: "", instructions: "", tools: {} };

/** Prepares a call of an agent outside of a turn, as plans make it. */
export function asking({ store = new MemoryStore(), spendLimits = {}, ...role }: AskingOptions) {
  const { signal = new AbortController().signal, more, turn, ...about } = role;
  const { findAgent, callsOf } = team({ researcher: about });
  const account = new Account({ store, limits: spendLimits });
  const chunks: UIMessageChunk[] = [];
  let ids = 0;
  const asker = findAgent("researcher");
  const context: TurnContext = {
    agent: ANYONE,
    model: asker.model,
    store,
    account,
    log: { commit: (work) => work(), note: () => undefined },
    emit: () => undefined,
    signal,
    newId: () => `id_${++ids}`,
    now: () => START_MS,
    sleep: async () => undefined,
    ...turn,
  };
  const call: CallOptions = {
    toolCallId: "outer",
    messages: [],
    signal,
    idempotencyKey: "c/t/0/0",
  };
  const onChunk = (chunk: UIMessageChunk) => void chunks.push(chunk);
  const ask: AskModel = (question) => askAgent(context, { ...asker, onChunk, ...more }, question);
  return { ask, call, store, account, chunks, calls: callsOf("researcher") };
}

/** A tool that returns its input. */
export function echoing() {
  const taken: unknown[] = [];
  const keys: unknown[] = [];
  const act = toolOf({ n: z.unknown() }, ({ n }, options) => {
    taken.push(n);
    keys.push((options as { idempotencyKey?: string }).idempotencyKey);
    return n;
  });
  return { taken, keys, act };
}

/** Returns tools with these names and no output place. */
export function allOf(names: readonly string[]): ReadonlyMap<string, undefined> {
  return new Map(names.map((name) => [name, undefined]));
}

/** Returns the text of each message of a prompt. */
export function textsOf(call: ScriptedModel["calls"][number] | undefined): readonly string[] {
  return (call?.prompt ?? []).map(({ content }) =>
    typeof content === "string"
      ? content
      : content.map((part) => ("text" in part ? part.text : JSON.stringify(part))).join(""),
  );
}

const asked = finish("tool-calls", { input: 60, output: 40 });

/** A step that calls another agent. */
export function delegating(agent: string, task: string): Step {
  return [toolCall("delegate", { agent, task }), asked];
}

/** A step with a text only. */
export function saying(written: string): Step {
  return [text(written), finish("stop", { input: 6, output: 4 })];
}

/** A conversation with an agent that may call a researcher, or the agents in `more.delegates`. */
export function asker(
  roles: Readonly<Record<string, Role>>,
  more: Partial<Agent> = {},
  options: Pick<ConversationOptions, "spendLimits" | "leases"> = {},
) {
  const { findAgent, callsOf } = team(roles);
  const about = { name: "boss", description: "", instructions: "Help.", tools: {} };
  const agent: Agent = { ...about, delegates: ["researcher"], ...more };
  const chat = new Conversation({ agent, services: { findAgent }, ...options });
  return { chat, callsOf };
}
