import type { ExampleQuestion, PageOptions } from "../../../src/edge/page-options.ts";
import "./first-run.css";

interface FirstRunProps {
  readonly presented: PageOptions;
  readonly ask: (example: ExampleQuestion) => void;
}

/** What this is, and something to try. */
export function FirstRun({ presented, ask }: FirstRunProps) {
  const { title, lead, examples = [] } = presented;
  return (
    <div className="first-run">
      <h2 className="first-run-title">
        {title ?? (
          <>
            Tools return variables.
            <br />
            The model passes them by reference.
          </>
        )}
      </h2>
      <p className="first-run-lead">
        {lead ?? (
          <>
            Ask a question. Each tool result is stored as a variable beside the conversation: the
            model writes <code>$orders</code>, tools and you get the data.
          </>
        )}
      </p>
      <div className="first-run-examples">
        {examples.map((example) => (
          <button
            key={example.title}
            type="button"
            className="first-run-card"
            onClick={() => ask(example)}
          >
            <span className="first-run-name">{example.title}</span>
            <span className="first-run-text">
              <span className="first-run-question">{example.question}</span>
              {example.about !== undefined && (
                <span className="first-run-about">{example.about}</span>
              )}
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}
