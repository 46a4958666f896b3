import type { UIMessage } from "ai";
import { type ReactNode, useMemo } from "react";
import { figure, plural } from "../words.ts";
import { NOTHING_SAVED, savesPrompt, WOULD_NOT_FIT } from "./savings-words.ts";
import { type TurnCost, type Totals, totalsOf, turnCosts } from "./turn-costs.ts";
import "./meter-panel.css";

interface MeterPanelProps {
  /** The prompt of the next model call. */
  readonly prompt: ReactNode;
  readonly messages: readonly UIMessage[];
  readonly firstParts: ReadonlyMap<string, number>;
}

/** Tokens saved by references, as counted by the server: in total and by turn. */
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
  const { tokens, authoredChars, resolvedChars, rowsWritten, wouldNotFit } = totals;
  const hasShare = savesPrompt(totals) && wouldNotFit === 0;
  return (
    <>
      {hasShare && <p className="meter-share">{percent(tokens.sent / tokens.inline)}</p>}
      <p className="meter-lead">{leadOf(totals, hasShare)}</p>
      <Bars cost={totals} />
      <dl className="meter-facts">
        <Fact name="References written" value={`${figure(authoredChars)} characters`} />
        <Fact name="Characters they replaced" value={`${figure(resolvedChars)} characters`} />
        <Fact name="Rows written" value={figure(rowsWritten)} />
      </dl>
    </>
  );
}

function leadOf({ wouldNotFit }: Totals, hasShare: boolean): string {
  if (hasShare) return "of the prompt tokens that would have been sent without references";
  if (wouldNotFit === 0) return `${NOTHING_SAVED}.`;
  return `Without references, ${plural(wouldNotFit, "model call")} ${WOULD_NOT_FIT}.`;
}

type PromptCost = Pick<TurnCost, "tokens" | "promptChars" | "inlinePromptChars" | "wouldNotFit">;

/** Two bars on one scale. A prompt larger than the context window fills it. */
function Bars({ cost }: { readonly cost: PromptCost }) {
  const { tokens, promptChars, inlinePromptChars, wouldNotFit } = cost;
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
            {wouldNotFit > 0 && kind === "meter-by-value" ? (
              WOULD_NOT_FIT
            ) : (
              <>
                {isEstimate && "≈ "}
                {figure(count)} tokens <span>{figure(chars)} characters</span>
              </>
            )}
          </dd>
          <dd className="meter-track" aria-hidden="true">
            <span className={kind} style={{ width: `${(count / most) * 100}%` }} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Turn({ turn }: { readonly turn: TurnCost }) {
  const { question, wouldNotFit, rowsWritten, firstPartMs } = turn;
  const isSaved = wouldNotFit > 0 || savesPrompt(turn);
  return (
    <li className="meter-turn">
      <p className="meter-question">{question}</p>
      <Bars cost={turn} />
      {!isSaved && <p className="meter-note">{NOTHING_SAVED}.</p>}
      <p className="meter-small">
        {rowsWritten !== undefined && <span>{figure(rowsWritten)} rows written</span>}
        {turn.resolvedChars > 0 && (
          <span>
            Model wrote {figure(turn.authoredChars)} characters; they expanded to{" "}
            {figure(turn.resolvedChars)}
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

/** A percentage of prompt tokens, the only kind of percentage on the page. */
function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value)} %`;
}
