import { ByrefError, codeOf, errorCodes } from "../../../../src/errors.ts";
import {
  type AgentContext,
  chosenAgents,
  type contexts,
  parse,
  type Turns,
} from "../../../../src/internal-edge.ts";
import { json } from "../../../../src/internal.ts";
import { type Plan, type StoredMessage, waitingCalls } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { Identity } from "../../../../src/runtime.ts";
import { Findings } from "../plan/findings.ts";
import { inputFindings, inputLabels } from "../plan/plan-input.ts";
import { invalidPlan } from "../run/open-plan.ts";
import type { CheckedProgram, ProgramOutcome, ProgramStart, WrittenProgram } from "./program.ts";
import { programMessage } from "./program-schemas.ts";

interface Asking {
  readonly asked: AgentContext;
  readonly agent?: string | undefined;
}

/** Checks a program that asks an agent. Throws `invalid_plan` for its schema, and `not_found` without the agent. */
export function checkMessage(
  { setup, settings }: contexts.ConversationContext,
  { text }: Pick<WrittenProgram, "text">,
  { asked, agent: name }: Asking,
): CheckedProgram {
  const { input } = parse(programMessage, json.parsedJson(text));
  const findings = new Findings(inputFindings(json.compact({ input: input as Plan["input"] })));
  if (!findings.isEmpty) throw invalidPlan(findings);
  const { agent } = chosenAgents.chooseAgent(setup, settings, { name, asked });
  return { agent: agent.name, calls: [], findings: [], ...json.compact({ input: input as Json }) };
}

/**
 * Asks the agent in the run's own conversation, and waits until its turn ends or waits for a person. The message has
 * the run's id: sent again, it is the same turn. Throws `conflict` to retry what is not the newest turn.
 */
export async function runMessage(
  context: contexts.ConversationContext,
  { run, name, program, input, isTrusted, conversation, retries = false }: ProgramStart,
  { asked, asker, turns }: Asking & { readonly asker: Identity; readonly turns: Turns },
): Promise<ProgramOutcome> {
  const before = exchangeIn(context, run);
  const given = before?.answer;
  if (given !== undefined) {
    if (!retries || statusOf(given) !== "failed") return outcomeOf(given);
    if (given.id !== context.data?.history.newest()?.id)
      throw new ByrefError(
        "conflict",
        "The conversation of this run has gone on: start a new one.",
      );
  }
  const text =
    before?.text ?? parse(programMessage, json.parsedJson(program?.text ?? "{}")).message;
  if (before === undefined) {
    // Throws before anything is stored.
    chosenAgents.chooseAgent(context.setup, context.settings, { name: program?.agent, asked });
    const { store } = context.wake();
    context.requireExisting().setTitle(name);
    const isGiven = !json.isJsonObject(input) || Object.keys(input).length > 0;
    if (isGiven) await store.save({ name: "input", value: input, ...inputLabels(isTrusted) });
  }
  const message = { id: run, parts: [{ type: "text" as const, text }] };
  const agent = given?.agent ?? program?.agent;
  const turn = await turns.begin({ message, agent, conversation }, { asker, traceparent: null });
  const { error } = await turn.result;
  const { answer } = exchangeIn(context, run) ?? {};
  if (answer !== undefined) return outcomeOf(answer, error && `${error.code}: ${error.message}`);
  throw new ByrefError("internal", "The turn of this run has no answer.");
}

/** The run's message, with which its conversation begins, and the answer, if they are there. */
export function exchangeIn({ data }: contexts.ConversationContext, run: string) {
  const first = data?.history.following(0);
  if (data === undefined || first?.message.id !== run) return undefined;
  const next = data.history.following(first.seq)?.message;
  return { text: textOf(first.message), ...(next?.role === "assistant" && { answer: next }) };
}

function outcomeOf(answer: StoredMessage, reason = errorIn(answer)): ProgramOutcome {
  const status = statusOf(answer);
  const error = status === "failed" ? reason : undefined;
  return {
    run: { status, calls: [], ...json.compact({ error }) },
    ...(status === "done" && { text: textOf(answer) }),
  };
}

function statusOf(answer: StoredMessage): ProgramOutcome["run"]["status"] {
  if (waitingCalls(answer).size > 0) return "waiting";
  if (json.isObject(answer.metadata) && answer.metadata.stopped === true) return "cancelled";
  return errorIn(answer) === undefined ? "done" : "failed";
}

function errorIn({ metadata }: StoredMessage): string | undefined {
  if (!json.isObject(metadata) || metadata.error === undefined) return undefined;
  const code = codeOf({ code: metadata.error });
  return `${code}: ${errorCodes[code].title}`;
}

/** The texts of a message as the person saw them. */
function textOf({ parts, display }: StoredMessage): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return (display ?? texts).join("\n\n");
}
