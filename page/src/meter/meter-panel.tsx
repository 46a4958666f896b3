import type { UIMessage } from "ai";
import { type ReactNode, useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Bars, Code, Fact } from "../controls.tsx";
import { figure, plural, problemWords } from "../words.ts";
import {
  type Cost,
  expandedWords,
  NOTHING_SAVED,
  savesPrompt,
  totalsOf,
  type TurnCost,
  turnCosts,
  WOULD_NOT_FIT,
} from "./turn-costs.ts";
import { useConversation } from "../conversation-context.ts";
import "./meter-panel.css";

/** Tokens saved by references, as counted by the server: in total and by turn. */
export function MeterPanel({ messages }: { readonly messages: readonly UIMessage[] }) {
  const turns = useMemo(() => turnCosts(messages), [messages]);
  const hasTurns = turns.length > 0;
  return (
    <section className="meter" aria-label="Meter">
      {hasTurns && <Whole totals={totalsOf(turns)} />}
      <SentPrompt />
      {hasTurns && <h2 className="meter-title">Turn by turn</h2>}
      <ol className="meter-turns">
        {turns.map((turn) => (
          <Turn key={turn.id} turn={turn} />
        ))}
      </ol>
      <p className="meter-note">
        {hasTurns
          ? "The model's provider reports the tokens sent, the server counts characters. ≈ is an estimate."
          : "After the first answer you see here what the model was sent, and what it would have been sent with every value in the prompt."}
      </p>
    </section>
  );
}

function Whole({ totals }: { readonly totals: Cost }) {
  const { tokens, authoredChars, resolvedChars, rowsWritten, wouldNotFit } = totals;
  const hasShare = savesPrompt(totals) && wouldNotFit === 0;
  return (
    <>
      {hasShare && <p className="meter-share">{percent(tokens.sent / tokens.inline)}</p>}
      <p className="meter-lead">{leadOf(totals, hasShare)}</p>
      <TokenBars cost={totals} />
      <dl className="meter-facts">
        <Fact name="References written">{figure(authoredChars)} characters</Fact>
        <Fact name="Characters they replaced">{figure(resolvedChars)} characters</Fact>
        <Fact name="Rows written">{figure(rowsWritten ?? 0)}</Fact>
      </dl>
    </>
  );
}

function leadOf({ wouldNotFit }: Cost, hasShare: boolean): string {
  if (hasShare) return "of the prompt tokens that would have been sent without references";
  if (wouldNotFit === 0) return `${NOTHING_SAVED}.`;
  return `Without references, ${plural(wouldNotFit, "model call")} ${WOULD_NOT_FIT}.`;
}

function Turn({ turn }: { readonly turn: TurnCost }) {
  const { question, wouldNotFit, rowsWritten, resolvedChars } = turn;
  return (
    <li className="meter-turn">
      <p className="meter-question">{question}</p>
      <TokenBars cost={turn} />
      {wouldNotFit === 0 && !savesPrompt(turn) && <p className="meter-note">{NOTHING_SAVED}.</p>}
      <p className="meter-small">
        {rowsWritten !== undefined && <span>{figure(rowsWritten)} rows written</span>}
        {resolvedChars > 0 && <span>{expandedWords(turn)}</span>}
      </p>
    </li>
  );
}

/** A percentage of prompt tokens, the only kind of percentage on the page. */
function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value)} %`;
}

/** Shows the prompt of the next model call. Loads it when opened. */
export function SentPrompt(): ReactNode {
  const { agent } = useConversation();
  const [isOpen, setOpen] = useState(false);
  if (agent === undefined) return null;
  return (
    <details className="meter-prompt" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What the model is sent</summary>
      {isOpen && <NextPrompt agent={agent} />}
    </details>
  );
}

function NextPrompt({ agent }: { readonly agent: string }) {
  const { session, exists } = useConversation();
  const conversation = exists ? session.conversation.id : undefined;
  const { data, error } = useQuery({
    queryKey: ["prompt", conversation, agent],
    queryFn: () => session.client.prompt(agent, { conversation }),
  });
  if (data === undefined) {
    return <p className="meter-note">{error === null ? "Loading…" : problemWords(error)}</p>;
  }
  const { instructions, tools, toolChars, guide, tail, messages, sentChars, laterChars } = data;
  const later = (name: string, isSent: boolean) => (isSent ? name : `${name}, later`);
  const rows: readonly (readonly [name: string, chars: number, isPart?: boolean])[] = [
    ["Instructions", instructions.chars],
    ["Tools", toolChars],
    ...tools.map(({ name, chars, sent }) => [later(name, sent), chars, true] as const),
    ["Messages", messages.reduce((sum, { chars }) => sum + chars, 0)],
    ...(guide ? [[later("Guide to references", guide.sent), guide.chars, true] as const] : []),
    ["Total", sentChars],
    ["Sent later, when needed", laterChars],
  ];
  return (
    <>
      <table className="meter-parts">
        <caption>Characters in the next call of {agent}</caption>
        <tbody>
          {rows.map(([name, chars, isPart = false]) => (
            <tr key={name} className={isPart ? "meter-part" : undefined}>
              <th scope="row">{name}</th>
              <td>{figure(chars)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Code label="Instructions">{instructions.text}</Code>
      {tail && <Code label="Last message">{tail.text}</Code>}
    </>
  );
}

/** The prompt, and the one without references. One that is larger than the context window fills its bar. */
export function TokenBars({ cost }: { readonly cost: Omit<Cost, "rowsWritten"> }) {
  const { tokens, promptChars, inlinePromptChars, wouldNotFit } = cost;
  const { sent, inline, isReported } = tokens;
  const words = (count: number, chars: number, isEstimate: boolean) => (
    <>
      {isEstimate && "≈ "}
      {figure(count)} tokens <span>{figure(chars)} characters</span>
    </>
  );
  const whole = wouldNotFit > 0 ? WOULD_NOT_FIT : words(inline, inlinePromptChars, true);
  return <Bars sent={[sent, words(sent, promptChars, !isReported)]} whole={[inline, whole]} />;
}
