import type { RunView } from "../../../packages/plans/src/http/plan-view.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { Problem } from "../variables/problem.tsx";
import { useNow } from "../variables/use-now.ts";
import { plural } from "../words.ts";
import { ageWords } from "../variables/words.ts";
import { MarkLabel } from "./mark.tsx";

interface RunListProps {
  /** Oldest first. */
  readonly runs: readonly RunView[];
  /** Id of the run shown in the graph. */
  readonly shown: string | undefined;
  readonly onShow: (run: string | undefined) => void;
}

/** The runs of a plan with input and outcome, newest first. */
export function RunList({ runs, shown, onShow }: RunListProps) {
  const now = useNow(10_000);
  if (runs.length === 0) return null;
  return (
    <section className="plans-runs" aria-label="Runs">
      <h3>{plural(runs.length, "run")}</h3>
      <ul>
        {runs.toReversed().map((run) => (
          <li key={run.id}>
            <button
              type="button"
              className="plans-run"
              aria-expanded={run.id === shown}
              onClick={() => onShow(run.id === shown ? undefined : run.id)}
            >
              <MarkLabel mark={run.status === "waiting" ? "asks" : run.status} />
              <span className="plans-quiet">{run.id}</span>
              <time dateTime={run.createdAt}>{ageWords(run.createdAt, now)}</time>
            </button>
            {run.id === shown ? <RunDetails run={run} /> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunDetails({ run: { input, state, error, omitted } }: { readonly run: RunView }) {
  return (
    <div className="plans-run-details">
      <Problem error={error} />
      {omitted === true ? (
        <p className="plans-quiet">Its input and state are too large to show here.</p>
      ) : (
        <>
          <h4>Input</h4>
          <JsonTree value={input} />
          <h4>State</h4>
          <JsonTree value={state} />
        </>
      )}
    </div>
  );
}
