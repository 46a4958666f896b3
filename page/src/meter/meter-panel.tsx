import type { UIMessage } from "ai";
import { useMemo } from "react";
import { figure } from "../words.ts";
import { type TurnCost, tokensOf, type Totals, totalsOf, turnCosts } from "./turn-costs.ts";
import "./meter-panel.css";

interface MeterPanelProps {
  readonly messages: readonly UIMessage[];
  readonly firstParts: ReadonlyMap<string, number>;
}

/** What passing by reference saves, counted by the server: in all, and turn by turn. */
export function MeterPanel({ messages, firstParts }: MeterPanelProps) {
  const turns = useMemo(() => turnCosts(messages, firstParts), [messages, firstParts]);
  if (turns.length === 0) {
    return (
      <section className="meter" aria-label="Meter">
        <p className="meter-note">
          After the first answer you see here what the model was sent, and what it would have been
          sent with every value in the prompt.
        </p>
      </section>
    );
  }
  const totals = totalsOf(turns);
  return (
    <section className="meter" aria-label="Meter">
      <Whole totals={totals} />
      <h2 className="meter-title">Turn by turn</h2>
      <ol className="meter-turns">
        {turns.map((turn) => (
          <Turn key={turn.id} turn={turn} />
        ))}
      </ol>
      <p className="meter-note">
        Characters are counted by the server, tokens estimated at four characters each.
      </p>
    </section>
  );
}

function Whole({ totals }: { readonly totals: Totals }) {
  const { promptChars, inlinePromptChars, authoredChars, resolvedChars, rowsWritten } = totals;
  const sentShare = promptChars / Math.max(1, inlinePromptChars);
  const isSaved = sentShare < 0.995;
  return (
    <>
      <p className="meter-share">
        {percent(isSaved ? sentShare : authoredChars / Math.max(1, resolvedChars))}
      </p>
      <p className="meter-lead">
        {isSaved
          ? "of the characters that the model would have been sent by value"
          : "of the characters that it passed on were written by the model; results this small it was shown whole"}
      </p>
      <Bars sent={promptChars} byValue={inlinePromptChars} />
      <dl className="meter-facts">
        <Fact name="Written by the model" value={`${figure(authoredChars)} characters`} />
        <Fact name="that stood for" value={`${figure(resolvedChars)} characters`} />
        <Fact name="Rows written" value={figure(rowsWritten)} />
      </dl>
    </>
  );
}

interface BarsProps {
  readonly sent: number;
  readonly byValue: number;
}

/** On one scale. */
function Bars({ sent, byValue }: BarsProps) {
  const most = Math.max(1, sent, byValue);
  const bars = [
    { word: "Sent", chars: sent, kind: "meter-sent" },
    { word: "By value", chars: byValue, kind: "meter-by-value" },
  ];
  return (
    <dl className="meter-bars">
      {bars.map(({ word, chars, kind }) => (
        <div key={word} className="meter-bar">
          <dt>{word}</dt>
          <dd className="meter-chars">
            {figure(chars)} <span>≈ {figure(tokensOf(chars))} tokens</span>
          </dd>
          <dd className="meter-track" aria-hidden="true">
            <span className={kind} style={{ width: `${(chars / most) * 100}%` }} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Turn({ turn }: { readonly turn: TurnCost }) {
  const { question, promptChars, inlinePromptChars, rowsWritten, firstPartMs } = turn;
  return (
    <li className="meter-turn">
      <p className="meter-question">{question}</p>
      <Bars sent={promptChars} byValue={inlinePromptChars} />
      <p className="meter-small">
        {rowsWritten !== undefined && <span>{figure(rowsWritten)} rows written</span>}
        {turn.resolvedChars > 0 && (
          <span>
            {figure(turn.authoredChars)} characters for {figure(turn.resolvedChars)}
          </span>
        )}
        {firstPartMs !== undefined && <span>first part after {Math.round(firstPartMs)} ms</span>}
      </p>
    </li>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value)} %`;
}
