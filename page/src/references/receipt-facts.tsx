import type { ReactNode, RefObject } from "react";
import type { ReceiptSpan } from "../../../packages/client/src/client.ts";
import { useConversation } from "../conversation-context.ts";
import { Fact } from "../fact.tsx";
import { momentInWords, plural } from "../words.ts";

interface ReceiptFactsProps {
  readonly span: ReceiptSpan;
  readonly mark: RefObject<HTMLElement | null>;
  readonly close: () => void;
}

/** Lists the source of a value in an answer: variable, path, version, tool call and time. */
export function ReceiptFacts(props: ReceiptFactsProps): ReactNode {
  const { variables } = useConversation();
  const { reference, variable, path, version, tool, at } = props.span;
  const info = variables.get(variable);
  const newer = info === undefined || version === undefined ? 0 : info.version - version;
  return (
    <>
      <code className="reference-source">{reference}</code>
      <dl className="reference-facts">
        <Fact name="Variable">${variable}</Fact>
        {path !== "" && (
          <Fact name="Path">
            <code>{path}</code>
          </Fact>
        )}
        {version !== undefined && <Fact name="Version">{version}</Fact>}
        <Fact name="Source">{tool === undefined ? "added by you or the app" : `tool ${tool}`}</Fact>
        {at !== undefined && (
          <Fact name="Saved">
            <time dateTime={at}>{momentInWords(at)}</time>
          </Fact>
        )}
      </dl>
      {info?.trusted === false && (
        <span className="reference-note reference-warning">not trusted</span>
      )}
      {newer > 0 && (
        <span className="reference-note">
          It has changed since: {plural(newer, "newer version")}.
        </span>
      )}
      {info === undefined && (
        <span className="reference-note">The variable is not there any more.</span>
      )}
      <ReceiptLinks {...props} />
    </>
  );
}

function ReceiptLinks({ span, mark, close }: ReceiptFactsProps) {
  const { variables, openVariable } = useConversation();
  const { variable, call } = span;
  const card = cardOf(call, mark.current);
  return (
    <span className="reference-links">
      {variables.has(variable) && (
        <button
          type="button"
          className="reference-open"
          onClick={() => {
            close();
            openVariable(variable);
          }}
        >
          Open ${variable}
        </button>
      )}
      {card !== undefined && (
        <button
          type="button"
          className="reference-open"
          onClick={() => {
            close();
            card.scrollIntoView({ block: "center" });
            card.querySelector("button")?.focus();
          }}
        >
          Show the tool call
        </button>
      )}
    </span>
  );
}

/** Returns the last card of a call before the mark. Call ids can repeat in later turns. */
function cardOf(call: string | undefined, mark: HTMLElement | null): HTMLElement | undefined {
  if (call === undefined || mark === null) return undefined;
  const cards = document.querySelectorAll<HTMLElement>(`[data-call="${CSS.escape(call)}"]`);
  const isBefore = (card: HTMLElement) =>
    (card.compareDocumentPosition(mark) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  return [...cards].findLast(isBefore);
}
