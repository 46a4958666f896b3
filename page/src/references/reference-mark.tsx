import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { ReceiptSpan } from "../../../packages/client/src/client.ts";
import { Button, Fact } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { momentInWords, plural } from "../words.ts";
import "./reference-mark.css";

const OPENS_AFTER_MS = 140;
const CLOSES_AFTER_MS = 180;

interface ReferenceMarkProps {
  readonly span: ReceiptSpan;
  readonly isBlock?: boolean;
  readonly children: ReactNode;
}

/** A value in an answer. Shows its source on hover, focus and click. */
export function ReferenceMark({ span, isBlock = false, children }: ReferenceMarkProps) {
  const { isOpen, own, set, ...handlers } = useCard(isBlock);
  const card = useId();
  const Wrapper = (isBlock ? "div" : "span") as "div";
  return (
    <Wrapper ref={own} className={`reference${isBlock ? " reference-block" : ""}`} {...handlers}>
      <span
        // A button element would not wrap with its line.
        role="button"
        tabIndex={0}
        className={isBlock ? "reference-tag" : "reference-inline"}
        aria-expanded={isOpen}
        aria-controls={isOpen ? card : undefined}
        aria-label={isBlock ? `From ${span.reference}` : undefined}
        title={isOpen ? undefined : `From ${span.reference}`}
        onClick={() => set(true)}
        onFocus={() => set(true)}
      >
        {isBlock ? span.reference : children}
      </span>
      {isBlock && children}
      {isOpen && (
        <span id={card} className="reference-card" role="group" aria-label="Variable">
          <ReceiptFacts span={span} />
          <ReceiptLinks span={span} mark={own.current} close={() => set(false)} />
        </span>
      )}
    </Wrapper>
  );
}

/** Opens on hover, focus and click. Stays open while the pointer or focus is in it. The style sheet places it. */
function useCard(isBlock: boolean) {
  const own = useRef<HTMLDivElement>(null);
  const timer = useRef(0);
  const [isOpen, setOpen] = useState(false);
  const set = (open: boolean, afterMs?: number) => {
    clearTimeout(timer.current);
    if (afterMs === undefined) setOpen(open);
    else timer.current = window.setTimeout(() => setOpen(open), afterMs);
  };
  useEffect(() => {
    return () => clearTimeout(timer.current);
  }, []);
  const holds = (node: EventTarget | null) => own.current?.contains(node as Node | null) === true;
  return {
    own,
    isOpen,
    set,
    onPointerEnter: () => {
      if (!isBlock) set(true, OPENS_AFTER_MS);
    },
    onPointerLeave: () => {
      if (!holds(document.activeElement)) set(false, CLOSES_AFTER_MS);
    },
    onBlur: ({ relatedTarget }: React.FocusEvent) => {
      if (!holds(relatedTarget)) set(false);
    },
    onKeyDown: (event: React.KeyboardEvent) => {
      const isMark = event.target === own.current?.firstElementChild;
      if (isMark && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        set(true);
      }
      if (event.key !== "Escape" || !isOpen) return;
      event.stopPropagation();
      set(false);
    },
  };
}

/** Lists the source of a value in an answer: variable, path, version, tool call and time. */
function ReceiptFacts({ span }: { readonly span: ReceiptSpan }) {
  const { reference, variable, path, version, tool, at } = span;
  const info = useConversation().variables.get(variable);
  const newer = info === undefined || version === undefined ? 0 : info.version - version;
  const note = (words: string) => <span className="reference-note">{words}</span>;
  return (
    <>
      <code className="reference-name">{reference}</code>
      <dl className="facts">
        <Fact name="Variable">${variable}</Fact>
        <Fact name="Path">{path === "" ? undefined : <code>{path}</code>}</Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name="Source">{tool === undefined ? "added by you or the app" : `tool ${tool}`}</Fact>
        <Fact name="Saved">
          {at === undefined ? undefined : <time dateTime={at}>{momentInWords(at)}</time>}
        </Fact>
      </dl>
      {info?.trusted === false && (
        <span className="reference-note reference-warning">not trusted</span>
      )}
      {newer > 0 && note(`It has changed since: ${plural(newer, "newer version")}.`)}
      {info === undefined && note("The variable is not there any more.")}
    </>
  );
}

interface ReceiptLinksProps {
  readonly span: ReceiptSpan;
  readonly mark: HTMLElement | null;
  readonly close: () => void;
}

function ReceiptLinks({ span: { variable, call }, mark, close }: ReceiptLinksProps) {
  const { variables, open } = useConversation();
  const card = call === undefined || mark === null ? undefined : cardOf(call, mark);
  const link = (words: string, act: () => void) => (
    <Button
      className="reference-open"
      onClick={() => {
        close();
        act();
      }}
    >
      {words}
    </Button>
  );
  return (
    <span className="reference-links">
      {variables.has(variable) &&
        link(`Open $${variable}`, () => open({ tab: "variables", variable }))}
      {card !== undefined && link("Show the tool call", () => showCard(card))}
    </span>
  );
}

/** Returns the last card of a call, before the mark if there is one. Call ids can repeat in later turns. */
export function cardOf(call: string, mark?: HTMLElement): HTMLElement | undefined {
  const cards = document.querySelectorAll<HTMLElement>(`[data-call="${CSS.escape(call)}"]`);
  const isBefore = (card: HTMLElement) =>
    mark === undefined ||
    (card.compareDocumentPosition(mark) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  return [...cards].findLast(isBefore);
}

/** Opens a card, and scrolls to it. */
export function showCard(card: HTMLElement | undefined): void {
  const head = card?.querySelector<HTMLElement>(".tool-head");
  if (head?.ariaExpanded === "false") head.click();
  head?.scrollIntoView({ block: "center" });
  head?.focus({ preventScroll: true });
}
