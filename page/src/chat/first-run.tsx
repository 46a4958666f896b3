import type {
  ExampleQuestion,
  MeasuredTokens,
  PageOptions,
} from "../../../src/edge/page-options.ts";
import { Button } from "../controls.tsx";
import { figure } from "../words.ts";
import "./first-run.css";

interface FirstRunProps {
  readonly presented: PageOptions;
  readonly ask: (example: ExampleQuestion) => void;
}

/** The view before the first message: an introduction, measured savings and example questions. */
export function FirstRun({ presented, ask }: FirstRunProps) {
  const { title, lead, examples = [] } = presented;
  const measured = examples.find((example) => example.measured !== undefined);
  return (
    <div className="first-run">
      <div className="first-run-head">
        <div className="first-run-words">
          <h2 className="first-run-title">
            {title ?? "Tools return variables. The model passes them by reference."}
          </h2>
          <p className="first-run-lead">
            {lead ?? (
              <>
                Ask a question. Each tool result is stored as a variable beside the conversation:
                the model writes <code>$orders</code>, tools and you get the data.
              </>
            )}
          </p>
        </div>
        {measured?.measured !== undefined && (
          <MeasuredBars title={measured.title} measured={measured.measured} />
        )}
      </div>
      <div className="first-run-examples">
        {examples.map((example) => {
          const { title, question, about } = example;
          return (
            <Button key={title} className="first-run-card" onClick={() => ask(example)}>
              <span className="first-run-name">{title}</span>
              <span className="first-run-text">
                <span className="first-run-question">{question}</span>
                {about !== undefined && <span className="first-run-about">{about}</span>}
              </span>
            </Button>
          );
        })}
      </div>
    </div>
  );
}

interface MeasuredBarsProps {
  readonly title: string;
  readonly measured: MeasuredTokens;
}

/** Two bars on one scale. */
function MeasuredBars({ title, measured: { sent, withoutReferences } }: MeasuredBarsProps) {
  const bars = [
    { word: "Sent to the model", tokens: sent, kind: "first-run-sent" },
    { word: "Without references", tokens: withoutReferences, kind: "first-run-whole" },
  ];
  const most = Math.max(1, sent, withoutReferences);
  return (
    <figure className="first-run-figure">
      <figcaption>{title}, tokens</figcaption>
      <dl>
        {bars.map(({ word, tokens, kind }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{figure(tokens)}</dd>
            <dd className="first-run-track" aria-hidden="true">
              <span className={kind} style={{ width: `${(tokens / most) * 100}%` }} />
            </dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}
