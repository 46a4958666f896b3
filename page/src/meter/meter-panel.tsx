import type { UIMessage } from "ai";
import { type ReactNode, useMemo } from "react";
import { Fact } from "../controls.tsx";
import { figure, plural } from "../words.ts";
import { TokenBars } from "./token-bars.tsx";
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
import "./meter-panel.css";

interface MeterPanelProps {
  /** The prompt of the next model call. */
  readonly prompt: ReactNode;
  readonly messages: readonly UIMessage[];
}

/** Tokens saved by references, as counted by the server: in total and by turn. */
export function MeterPanel({ messages, prompt }: MeterPanelProps) {
  const turns = useMemo(() => turnCosts(messages), [messages]);
  const hasTurns = turns.length > 0;
  return (
    <section className="meter" aria-label="Meter">
      {hasTurns && <Whole totals={totalsOf(turns)} />}
      {prompt}
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
