import { ByrefError, codeOf, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { UrlSources } from "../tool/composed.ts";
import { Labels } from "../store/labels.ts";
import { withUser } from "../store/user-variables.ts";
import type { VariableStore } from "../store/variables.ts";
import { ScopedStore } from "../tool/scoped-store.ts";
import { variableIn } from "../tool/tool-output.ts";
import { runtimeToolNames } from "../tool/variables/variable-tools.ts";
import type { SaveTarget } from "../tool/save-target.ts";
import type { CallOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import { compact, type Json } from "../value/json.ts";
import { type Agent, isOffered, referencesOf } from "./agent.ts";
import { type AnswerOptions, lookupOf } from "./answer.ts";
import { type AskAgent, type CalledAgent, DELEGATE, type ModelAnswer } from "./delegate-tool.ts";
import { textsOf } from "./history/message-parts.ts";
import { modelNameOf } from "./model/model-call.ts";
import { Steps } from "./steps.ts";
import { TurnState } from "./log/turn-state.ts";
import { failed } from "../tool/policy.ts";
import type { TurnContext } from "./turn-context.ts";

/** A question to a model that sees variables of the conversation and nothing else of it. */
export interface ModelQuestion {
  readonly prompt: string;
  /** The agent's tools that the model receives, by name, and where each result is saved. */
  readonly tools: ReadonlyMap<string, SaveTarget | undefined>;
  /**
   * Names of the variables that the prompt shows, as the run calls them. The list has these and the results
   * of its tools. Default: all variables of the conversation.
   */
  readonly variables?: readonly string[];
  /** Texts in the prompt that are not variables: files. */
  readonly texts?: readonly string[];
  readonly call: CallOptions;
}

/** Asks a question. Rejects with a ByrefError such as `model_failed` or `spend_exceeded`. */
export type AskModel = (question: ModelQuestion) => Promise<ModelAnswer>;

/** Without `tools`: all tools of the agent. */
type Question = Pick<ModelQuestion, "prompt" | "call" | "texts"> &
  Partial<Pick<ModelQuestion, "tools" | "variables">>;

/** Options for the tools of a turn or run: its agent calls others, and the tool calls of code are counted. */
export function toolboxFor(context: TurnContext) {
  const depth = (context.depth ?? 0) + 1;
  const ask: AskAgent = (called, question) => askAgent({ ...context, depth }, called, question);
  return { ask, onCall: () => context.account.spend("toolCalls", 1) };
}

/**
 * Asks an agent one question. The agent sees the conversation's variables, or those of the question, and
 * nothing else of it. The steps are those of a turn without a history. They are not written to the journal,
 * and only `onChunk` receives their chunks. Calls that need a person's approval are refused. Rejects with
 * errors that end a turn, such as `model_failed`, `spend_exceeded` and `limit_exceeded`, or the reason of the
 * call's signal.
 */
export async function askAgent(
  context: TurnContext,
  calledAgent: CalledAgent,
  question: Question,
): Promise<ModelAnswer> {
  const advice = "Too many agents wait for one another: do this without another one.";
  requireAtMost("maxDelegateDepth", context.depth ?? 0, advice);
  const equipped = await calledAgent.equip(question.call.signal);
  try {
    const agent = withTools(equipped.agent, question.tools);
    return await answerOf(context, { ...calledAgent, agent }, question);
  } finally {
    // The answer does not wait until sessions are closed.
    void equipped.close();
  }
}

async function answerOf(
  asker: TurnContext,
  { agent, model, redact, onChunk }: CalledAgent & { readonly agent: Agent },
  question: Question,
): Promise<ModelAnswer> {
  const { call, variables, tools, prompt } = question;
  const { scope, madeOf } = call;
  // Its own definition decides, not that of the agent which calls it.
  const store = withUser(asker.store, asker.user, agent.userScope);
  const id = call.idempotencyKey ?? asker.newId();
  const observed = call.observer?.begin({ kind: "agent", name: agent.name, ...modelNameOf(model) });
  const context: TurnContext = {
    ...asker,
    agent,
    store,
    model,
    redact,
    signal: call.signal,
    observer: observed,
    // A crash ends the outer call, and the question with it.
    log: { commit: (work) => work(), note: () => undefined },
    emit: (chunk) => {
      if (chunk.type.startsWith("tool-")) onChunk?.(chunk);
    },
  };
  const state = new TurnState(context, { id, key: id, isTainted: madeOf?.isTrusted === false });
  const labels = new Labels(store, state.taint, madeOf);
  const looking = { state, scope, onUsed: (name: string) => labels.add(name) };
  // The variables that the question shows, and those of its tools' results.
  const given = (shown: readonly string[]) => {
    const results = state.parts.parts.flatMap((part) =>
      "output" in part ? (variableIn(part.output) ?? []) : [],
    );
    return new ScopedStore(store, scope).list({ names: [...shown, ...results] });
  };
  const parts = [{ type: "text" as const, text: prompt }];
  const createdAt = new Date(asker.now()).toISOString();
  const steps = new Steps(context, {
    ...looking,
    window: [{ id, role: "user", parts, createdAt }],
    idSuffix: "",
    variables: () => variables && given(variables),
    toolbox: {
      ...toolboxFor(asker),
      adapt: (tool) => unattended(tool, question),
      // The question named these tools, and a run's own variables are not in the list of variables.
      showsAll: tools !== undefined || scope?.ownsResults === true,
    },
  });
  try {
    steps.startStep();
    await steps.open();
    const finishReason = await steps.run();
    // No person sees that an answer is cut off.
    if (!["stop", "tool-calls", "other"].includes(finishReason))
      throw new ByrefError("model_failed", `The model's answer broke off: ${finishReason}.`);
    const answer = state.parts.step();
    // The value of the last text. Earlier texts are intermediate.
    const whole = await referredValue(context, looking, textsOf(answer.parts).join("").trim());
    const value = whole ?? answer.display.join("");
    const used = store.holds.names(id);
    if (await sourcesOf(question, store, used, labels).hasUnknownUrl(value)) labels.compose();
    // The guard comes from its content, the sources from everything it was made of.
    const own = labels.ofResult(agent.name, { source: `agent:${agent.name}` });
    const sources = used.flatMap((variable) => store.info(variable)?.sources ?? []);
    observed?.end();
    return { value, labels: { ...own, sources: [...new Set([...own.sources, ...sources])] } };
  } catch (error) {
    observed?.end({ error: codeOf(error) });
    steps.closeCalls();
    throw error;
  } finally {
    store.holds.release(id);
  }
}

/** The value, if the text is exactly one reference. */
async function referredValue(
  { agent, store }: TurnContext,
  looking: AnswerOptions,
  text: string,
): Promise<Json | undefined> {
  if (text.length > limits.maxHeldChars) return undefined;
  let whole: Json | undefined;
  await resolveReferences(text, lookupOf(store, looking), {
    ...compact({ syntaxes: referencesOf(agent).syntaxes }),
    onResolved: (source, { value }) => {
      if (source === text) whole = value;
    },
    // If the value cannot be passed on, the text that a person would see is used instead.
  }).catch(() => undefined);
  return whole;
}

/** The values that the answer's URLs may come from. Large values are not read and yield null. */
function sourcesOf(
  { texts = [] }: Question,
  store: VariableStore,
  held: readonly string[],
  labels: Labels,
): UrlSources {
  const sources = new UrlSources();
  for (const text of texts) sources.add(() => text);
  for (const name of new Set([...held, ...labels.consumed.map((used) => used.name)])) {
    sources.add(async () => {
      const { chars = 0, type } = store.glance(name) ?? {};
      const isRead = type !== "bytes" && chars <= limits.maxEmbeddedChars;
      return (isRead ? await store.read(name) : null) ?? null;
    });
  }
  return sources;
}

/** Limits the agent to these tools. Throws `unknown_tool`. */
function withTools(agent: Agent, tools: ModelQuestion["tools"] | undefined): Agent {
  if (tools === undefined) return agent;
  const { delegates = [] } = agent;
  for (const name of tools.keys()) {
    if (runtimeToolNames.includes(name) || Object.hasOwn(agent.tools, name)) continue;
    throw new ByrefError("unknown_tool", `The agent ${agent.name} has no tool ${name}.`);
  }
  return {
    ...agent,
    tools: Object.fromEntries(Object.entries(agent.tools).filter(([name]) => tools.has(name))),
    variableTools: runtimeToolNames.filter((name) => tools.has(name) && isOffered(name, agent)),
    delegates: tools.has(DELEGATE) ? delegates : [],
  };
}

/** Adapts a tool for a question that no person can approve, and sets where its result is saved. */
function unattended(tool: WrappedTool, { tools, call: { scope } }: Question): WrappedTool {
  const { name } = tool;
  const place = compact({ saveTo: tools?.get(name), scope });
  const message = `${name} runs only when a person approves it; a called agent cannot ask a person.`;
  return {
    ...tool,
    async prepare(input, call) {
      const ready = await tool.prepare(input, { ...call, ...place });
      const isAsked = ready.kind !== "failed" && ready.approval !== undefined;
      return isAsked ? failed(new ByrefError("tool_denied", message)) : ready;
    },
  };
}
