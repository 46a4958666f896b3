import { useEffect, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Problem } from "./problem.tsx";
import { figure } from "../words.ts";

interface TextViewProps {
  readonly session: Session;
  readonly info: VariableInfo;
}

/** Characters that are asked for at once. */
const PAGE_CHARS = 20_000;

/** A text, a page at a time. */
export function TextView({ session, info }: TextViewProps) {
  const { name, count } = info;
  const [pages, setPages] = useState<readonly string[]>([]);
  const [wanted, setWanted] = useState(1);
  const [error, setError] = useState<unknown>();
  const { variables } = session.client.conversation(session.conversation);
  useEffect(() => {
    if (pages.length >= wanted || count === 0) return undefined;
    let isCurrent = true;
    const offset = pages.length * PAGE_CHARS;
    variables.get<string>(name, { offset, limit: PAGE_CHARS }).then(
      (text) => isCurrent && setPages((all) => [...all, text]),
      (failure: unknown) => isCurrent && setError(failure),
    );
    return () => {
      isCurrent = false;
    };
    // The same conversation has another object each time.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [pages, wanted, name, count, session]);
  const shown = Math.min(count, pages.length * PAGE_CHARS);
  return (
    <div className="variables-value">
      <pre className="variables-text" role="group" tabIndex={0} aria-label={`The text of $${name}`}>
        {pages.join("")}
      </pre>
      <Problem error={error} />
      {shown < count && shown > 0 ? (
        <button
          type="button"
          className="variables-more"
          onClick={() => setWanted((pages) => pages + 1)}
        >
          Show {figure(Math.min(PAGE_CHARS, count - shown))} more characters ({figure(shown)} of{" "}
          {figure(count)})
        </button>
      ) : null}
    </div>
  );
}
