import { useInfiniteQuery } from "@tanstack/react-query";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { Problem } from "./problem.tsx";
import { figure } from "../words.ts";
import { versionKey } from "./value-path.ts";

interface TextViewProps {
  readonly session: Session;
  readonly info: VariableInfo;
}

/** Characters per request. */
const PAGE_CHARS = 20_000;

/** Shows a text in pages. */
export function TextView({ session, info }: TextViewProps) {
  const { name, count } = info;
  const { variables } = session.client.conversation(session.conversation);
  const { data, error, fetchNextPage } = useInfiniteQuery({
    queryKey: [...versionKey(session, info), "text"],
    queryFn: ({ pageParam: offset }) => variables.get<string>(name, { offset, limit: PAGE_CHARS }),
    initialPageParam: 0,
    getNextPageParam: (_, pages) => pages.length * PAGE_CHARS,
    enabled: count > 0,
    ...unchanging,
  });
  const pages = data?.pages ?? [];
  const shown = Math.min(count, pages.length * PAGE_CHARS);
  return (
    <div className="variables-value">
      <pre className="variables-text" role="group" tabIndex={0} aria-label={`The text of $${name}`}>
        {pages.join("")}
      </pre>
      <Problem error={error} />
      {shown < count && shown > 0 ? (
        <button type="button" className="variables-more" onClick={() => void fetchNextPage()}>
          Show {figure(Math.min(PAGE_CHARS, count - shown))} more characters ({figure(shown)} of{" "}
          {figure(count)})
        </button>
      ) : null}
    </div>
  );
}
