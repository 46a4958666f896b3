import type {
  ExampleQuestion,
  MeasuredTokens,
  PageOptions,
} from "../../../src/edge/page-options.ts";
import { type Bar, Bars, Button } from "../controls.tsx";
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
          <figure className="first-run-figure">
            <figcaption>{measured.title}, tokens</figcaption>
            <Bars bars={barsOf(measured.measured)} />
          </figure>
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

function barsOf({ sent, withoutReferences }: MeasuredTokens): readonly Bar[] {
  return [
    ["Sent to the model", "first-run-sent", sent, figure(sent)],
    ["Without references", "first-run-whole", withoutReferences, figure(withoutReferences)],
  ];
}
