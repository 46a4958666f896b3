import type { ExampleQuestion, PageOptions } from "../../../src/edge/page-options.ts";
import { Bars, Button } from "../controls.tsx";
import { figure } from "../words.ts";
import "./first-run.css";

interface FirstRunProps {
  readonly presented: PageOptions;
  readonly ask: (example: ExampleQuestion) => void;
}

/** The view before the first message: an introduction, measured savings and example questions. */
export function FirstRun({ presented, ask }: FirstRunProps) {
  const { title, lead, examples = [] } = presented;
  const shown = examples.find((example) => example.measured !== undefined);
  const { sent = 0, withoutReferences: whole = 0 } = shown?.measured ?? {};
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
        {shown !== undefined && (
          <figure className="first-run-figure">
            <figcaption>{shown.title}, tokens</figcaption>
            <Bars sent={[sent, figure(sent)]} whole={[whole, figure(whole)]} />
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
