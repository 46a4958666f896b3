import type { UIMessage } from "ai";
import { type ReactNode, useMemo } from "react";
import { figure, plural } from "../words.ts";
import { type TurnCost, type Totals, totalsOf, turnCosts } from "./turn-costs.ts";
import "./meter-panel.css";

interface MeterPanelProps {
  /** What the next call is sent. */
  readonly prompt: ReactNode;
  readonly messages: readonly UIMessage[];
  readonly firstParts: ReadonlyMap<string, number>;
}

/** What passing by reference saves, counted by the server: in all, and turn by turn. */
export function MeterPanel({ messages, firstParts, prompt }: MeterPanelProps) {
  const turns = useMemo(() => turnCosts(messages, firstParts), [messages, firstParts]);
  if (turns.length === 0) {
    return (
      <section className="meter" aria-label="Meter">
        <p className="meter-note">
          After the first answer you see here what the model was sent, and what it would have been
          sent with every value in the prompt.
        </p>
        {prompt}
      </section>
    );
  }
  const totals = totalsOf(turns);
  return (
    <section className="meter" aria-label="Meter">
      <Whole totals={totals} />
      {prompt}
      <h2 className="meter-title">Turn by turn</h2>
      <ol className="meter-turns">
        {turns.map((turn) => (
          <Turn key={turn.id} turn={turn} />
        ))}
      </ol>
      <p className="meter-note">
        The model's provider reports the tokens sent, the server counts characters. ≈ is an
        estimate.
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
          ? "of the prompt that the model would have been sent without references"
          : "of the characters that it passed on were written by the model; results this small it was shown whole"}
      </p>
      <Bars cost={totals} />
      <NotFitting calls={totals.wouldNotFit} />
      <dl className="meter-facts">
        <Fact name="References written" value={`${figure(authoredChars)} characters`} />
        <Fact name="Characters they replaced" value={`${figure(resolvedChars)} characters`} />
        <Fact name="Rows written" value={figure(rowsWritten)} />
      </dl>
    </>
  );
}

type PromptCost = Pick<TurnCost, "tokens" | "promptChars" | "inlinePromptChars">;

/** On one scale. */
function Bars({ cost }: { readonly cost: PromptCost }) {
  const { tokens, promptChars, inlinePromptChars } = cost;
  const most = Math.max(1, tokens.sent, tokens.inline);
  const sent = { count: tokens.sent, chars: promptChars, isEstimate: !tokens.isReported };
  const inline = { count: tokens.inline, chars: inlinePromptChars, isEstimate: true };
  const bars = [
    { word: "Sent", ...sent, kind: "meter-sent" },
    { word: "Without references", ...inline, kind: "meter-by-value" },
  ];
  return (
    <dl className="meter-bars">
      {bars.map(({ word, count, chars, isEstimate, kind }) => (
        <div key={word} className="meter-bar">
          <dt>{word}</dt>
          <dd className="meter-chars">
            {isEstimate && "≈ "}
            {figure(count)} tokens <span>{figure(chars)} characters</span>
          </dd>
          <dd className="meter-track" aria-hidden="true">
            <span className={kind} style={{ width: `${(count / most) * 100}%` }} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Says why the figures without references are not larger. */
function NotFitting({ calls }: { readonly calls: number }) {
  if (calls === 0) return null;
  return (
    <p className="meter-note">
      With the values, {plural(calls, "model call")} would not have fitted into the context window;
      each counts as a full window.
    </p>
  );
}

function Turn({ turn }: { readonly turn: TurnCost }) {
  const { question, wouldNotFit, rowsWritten, firstPartMs } = turn;
  return (
    <li className="meter-turn">
      <p className="meter-question">{question}</p>
      <Bars cost={turn} />
      <NotFitting calls={wouldNotFit} />
      <p className="meter-small">
        {rowsWritten !== undefined && <span>{figure(rowsWritten)} rows written</span>}
        {turn.resolvedChars > 0 && (
          <span>
            {figure(turn.authoredChars)} characters written, {figure(turn.resolvedChars)} expanded
          </span>
        )}
        {firstPartMs !== undefined && <span>first token after {Math.round(firstPartMs)} ms</span>}
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
