import * as z from "zod";
import { ByrefError, codeIn } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { type contexts, directoryOf, logFailure, placeIn } from "../../../../src/internal-edge.ts";
import { json, variableNames, withTimeLimit } from "../../../../src/internal.ts";
import {
  runtimeTools,
  saveTargets,
  toolCalls,
  toolInputs,
  type turnAgents,
  type wraps,
} from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { askObject, type ObjectRequest } from "./object-request.ts";
import type { ListedProgram, RanProgram } from "./program-schemas.ts";

const RUN_PROGRAM = "run_program";
const DESCRIPTION = "Run a saved program, without a model, and save its result.";

/** Names the agent whose model starts a run. The Worker forwards no header of this name from a client. */
export const AGENT_HEADER = "x-byref-agent";

/** Asks the tenant's object for who asks and the agent. Throws what it refuses. */
type AskTenant = (path: string, request?: Omit<ObjectRequest, "asker">) => Promise<Json>;

/**
 * The tool with which the agent's model runs the programs that the tenant has given to the agent. None if there are
 * none, or if the tenant's object does not answer.
 */
export async function programTools(
  context: contexts.ConversationContext,
  { name, programs, context: asked }: turnAgents.Agent,
  wrap: wraps.WrapOptions,
): Promise<readonly runtimeTools.RuntimeTool[]> {
  if (programs !== true || asked === undefined) return [];
  const { env, state } = context;
  const object = directoryOf(env, asked.tenant, state.id.jurisdiction);
  if (object === undefined) return [];
  const agent = encodeURIComponent(name);
  const ask: AskTenant = (path, { headers, ...request } = {}) =>
    askObject(object, path, {
      ...request,
      asker: asked,
      headers: { ...headers, [AGENT_HEADER]: agent },
    });
  try {
    const path = `/programs?agent=${agent}`;
    const answer = await withTimeLimit(limits.replyMs, () => ask(path, { method: "GET" }));
    // The tenant's object answers as its schemas say.
    const { programs: offered } = answer as unknown as { programs: readonly ListedProgram[] };
    return offered.length === 0 ? [] : [runProgramTool(offered, ask, wrap)];
  } catch (error) {
    logFailure(error, placeIn(context, "programs"));
    return [];
  }
}

function runProgramTool(
  offered: readonly ListedProgram[],
  ask: AskTenant,
  wrap: wraps.WrapOptions,
): runtimeTools.RuntimeTool {
  const inputSchema = z.object({
    program: z.enum(offered.map(({ name }) => name)),
    input: toolInputs.anyJsonObject.optional(),
  });
  return runtimeTools.runtimeTool({
    name: RUN_PROGRAM,
    description: [DESCRIPTION, ...offered.map(describe)].join("\n"),
    inputSchema,
    offeredFrom: "start",
    takesOutputPath: true,
    // Each call has a key: a repetition is the same run.
    effects: "idempotent",
    timeMs: limits.turnMs,
    async execute({ program, input = {} }, { call, labels, resolve }) {
      const { value, unresolved } = await resolve(input);
      if (labels.isGuarded) {
        const message = "A sealed or secret value is given to no program: a person runs it.";
        throw new ByrefError("variable_sealed", message);
      }
      const body = { input: value, trusted: labels.isTrusted };
      const path = `/programs/${encodeURIComponent(program)}/runs`;
      const key = call.idempotencyKey ?? call.toolCallId;
      const headers = { "idempotency-key": key };
      const run = (await ask(path, { body, headers })) as unknown as RanProgram;
      const { status, conversation, error = "", state = {}, text, visibility, untrusted } = run;
      if (status === "waiting" || status === "running")
        return { output: { status, run: run.id, conversation }, isNothing: true };
      if (status !== "done") {
        // The reason may quote what the run has read, and has no labels.
        const isOpen = visibility === undefined && untrusted !== true && wrap.untrusted !== "hide";
        if (isOpen) wrap.taint?.add();
        const why = isOpen ? error : `Its conversation is ${conversation}.`;
        throw new ByrefError(codeIn(error), `The run ${run.id} has ${status}. ${why}`);
      }
      if (json.isJsonObject(state) && Object.keys(state).join() === "$var") {
        const message = `Its result is too long to copy; it is in the conversation ${conversation}.`;
        throw new ByrefError("limit_exceeded", message);
      }
      // It is unknown here who built the URLs in it.
      labels.compose();
      const own = labels.ofResult(RUN_PROGRAM, { trusted: untrusted !== true });
      const inputDigest = await toolInputs.digestOf([program, value]);
      const write = {
        value: text === undefined ? state : { text, state },
        name: { ...variableNames.nameForCall(program, value), inputDigest },
        tool: RUN_PROGRAM,
        toolCallId: call.toolCallId,
        input: { program, input },
        ...own,
        ...(visibility && { visibility, flags: ["composed", "derived"] as const }),
      };
      const places = call.saveTo === undefined ? [] : saveTargets.chosenPlaces(call.saveTo);
      const writes = toolCalls.saveAt({ write, places, unresolved, call }, wrap);
      return { output: null, save: () => toolCalls.stageAll(writes) };
    },
  });
}

/** `- totals(status?: string): What it does.` */
function describe({ name, input, description }: ListedProgram): string {
  const { properties = {}, required = [] } = Object(input) as {
    readonly properties?: Readonly<Record<string, { readonly type?: Json }>>;
    readonly required?: readonly string[];
  };
  const parameters = Object.entries(properties).map(([key, { type }]) => {
    const isNeeded = required.includes(key);
    return `${key}${isNeeded ? "" : "?"}: ${typeof type === "string" ? type : "any"}`;
  });
  return `- ${name}(${parameters.join(", ")})${description === undefined ? "" : `: ${description}`}`;
}
