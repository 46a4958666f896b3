import { ByrefError } from "../../../../src/errors.ts";
import {
  type AgentContext,
  type contexts,
  parse,
  type Turns,
} from "../../../../src/internal-edge.ts";
import { json } from "../../../../src/internal.ts";
import {
  endOf,
  type Plan,
  type StoredMessage,
  waitingCalls,
} from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { Findings } from "../plan/plan-format.ts";
import { inputFindings, inputLabels } from "../plan/plan-input.ts";
import { invalidPlan } from "../run/open-plan.ts";
import {
  type CheckedProgram,
  type ProgramOutcome,
  type ProgramStart,
  type WrittenProgram,
  programMessage,
} from "./program-schemas.ts";

/** Checks a program that asks an agent. Throws `invalid_plan` for its schema. */
export function checkMessage({ text }: WrittenProgram): Omit<CheckedProgram, "agent"> {
  const { input } = parse(programMessage, json.parsedJson(text));
  const findings = new Findings(inputFindings(json.compact({ input: input as Plan["input"] })));
  if (!findings.isEmpty) throw invalidPlan(findings);
  return { calls: [], findings: [], ...json.compact({ input: input as Json }) };
}

/**
 * Asks the agent in the run's own conversation, and waits until its turn ends or waits for a person. The message has
 * the run's id: sent again, it is the same turn. Throws `conflict` to retry what is not the newest turn.
 */
export async function runMessage(
  context: contexts.ConversationContext,
  { run, name, program, input, isTrusted, conversation, retries = false }: ProgramStart,
  { asked, turns }: { readonly asked: AgentContext; readonly turns: Turns },
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
    context.chooseAgent({ name: program?.agent, asked });
    const { store } = context.wake();
    context.requireExisting().setTitle(name);
    const isGiven = !json.isJsonObject(input) || Object.keys(input).length > 0;
    if (isGiven) await store.save({ name: "input", value: input, ...inputLabels(isTrusted) });
  }
  const message = { id: run, parts: [{ type: "text" as const, text }] };
  const agent = given?.agent ?? program?.agent;
  const about = { asker: asked, traceparent: null };
  const turn = await turns.begin({ message, agent, conversation }, about);
  const { error } = await turn.result;
  const { answer } = exchangeIn(context, run) ?? {};
  if (answer !== undefined) return outcomeOf(answer, error);
  throw new ByrefError("internal", "The turn of this run has no answer.");
}

/** The run's message, with which its conversation begins, and the answer, if they are there. */
export function exchangeIn({ data }: contexts.ConversationContext, run: string) {
  const first = data?.history.following(0);
  if (data === undefined || first?.message.id !== run) return undefined;
  const next = data.history.following(first.seq)?.message;
  return { text: textOf(first.message), ...(next?.role === "assistant" && { answer: next }) };
}

function outcomeOf(answer: StoredMessage, error = endOf(answer).error): ProgramOutcome {
  const status = statusOf(answer);
  const reason = status === "failed" ? error && `${error.code}: ${error.message}` : undefined;
  return {
    run: { status, calls: [], ...json.compact({ error: reason }) },
    ...(status === "done" && { text: textOf(answer) }),
  };
}

function statusOf(answer: StoredMessage): ProgramOutcome["run"]["status"] {
  if (waitingCalls(answer).size > 0) return "waiting";
  const { isStopped, error } = endOf(answer);
  if (isStopped) return "cancelled";
  return error === undefined ? "done" : "failed";
}

/** The texts of a message as the person saw them. */
function textOf({ parts, display }: StoredMessage): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return (display ?? texts).join("\n\n");
}
