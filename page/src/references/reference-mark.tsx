import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { ReceiptSpan } from "../../../packages/client/src/client.ts";
import { ReceiptFacts } from "./receipt-facts.tsx";
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
  const { isOpen, place, own, ...handlers } = useCard();
  const card = useId();
  const press = (
    // A button element would not wrap with its line.
    <span
      role="button"
      tabIndex={0}
      className={isBlock ? "reference-tag" : "reference-inline"}
      aria-expanded={isOpen}
      aria-controls={isOpen ? card : undefined}
      aria-label={isBlock ? `From ${span.reference}` : undefined}
      title={isOpen ? undefined : `From ${span.reference}`}
      onClick={handlers.show}
      onFocus={handlers.show}
    >
      {isBlock ? span.reference : children}
    </span>
  );
  const Wrapper = (isBlock ? "div" : "span") as "div";
  return (
    <Wrapper
      ref={own}
      className={isBlock ? "reference reference-block" : "reference"}
      onPointerEnter={isBlock ? undefined : handlers.enter}
      onPointerLeave={handlers.leave}
      onBlur={handlers.blur}
      onKeyDown={handlers.key}
    >
      {press}
      {isBlock && children}
      {isOpen && (
        <span id={card} className="reference-card" style={place} role="group" aria-label="Variable">
          <ReceiptFacts span={span} mark={own} close={handlers.hide} />
        </span>
      )}
    </Wrapper>
  );
}

/** Opens on hover, focus and click. Stays open while the pointer or focus is in it. */
function useCard() {
  const own = useRef<HTMLDivElement>(null);
  const timer = useRef(0);
  const [place, setPlace] = useState<{ left: number; top?: number; bottom?: number }>();
  const later = (work: () => void, milliseconds: number) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(work, milliseconds);
  };
  const show = () => {
    clearTimeout(timer.current);
    setPlace(placeFor(own.current));
  };
  const hide = () => {
    clearTimeout(timer.current);
    setPlace(undefined);
  };
  useEffect(() => {
    return () => clearTimeout(timer.current);
  }, []);
  const isOpen = place !== undefined;
  useEffect(() => {
    if (!isOpen) return undefined;
    // The card follows its mark, and closes when the mark is out of view.
    const move = () => setPlace(isInSight(own.current) ? placeFor(own.current) : undefined);
    window.addEventListener("scroll", move, { capture: true, passive: true });
    window.addEventListener("resize", move);
    return () => {
      window.removeEventListener("scroll", move, { capture: true });
      window.removeEventListener("resize", move);
    };
  }, [isOpen]);
  return {
    own,
    place,
    isOpen,
    show,
    hide,
    enter: () => later(show, OPENS_AFTER_MS),
    leave: () => {
      if (own.current?.contains(document.activeElement) !== true) later(hide, CLOSES_AFTER_MS);
    },
    blur: ({ relatedTarget }: React.FocusEvent) => {
      if (!(relatedTarget instanceof Node && own.current?.contains(relatedTarget))) hide();
    },
    key: (event: React.KeyboardEvent) => {
      const isMark = event.target === own.current?.firstElementChild;
      if (isMark && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        show();
      }
      if (event.key !== "Escape" || !isOpen) return;
      event.stopPropagation();
      hide();
    },
  };
}

const CARD_WIDTH = 280;
const CARD_HEIGHT = 220;

function boxOf(mark: HTMLElement | null): DOMRect | undefined {
  return mark?.firstElementChild?.getClientRects()[0];
}

function isInSight(mark: HTMLElement | null): boolean {
  const { top = 0, bottom = 0 } = boxOf(mark) ?? {};
  return bottom > 0 && top < window.innerHeight;
}

/** Returns a place below the mark's first line, or above it if there is no room. */
function placeFor(mark: HTMLElement | null) {
  const box = boxOf(mark);
  if (box === undefined) return undefined;
  const left = Math.max(8, Math.min(box.left, window.innerWidth - CARD_WIDTH - 8));
  const isAbove = box.bottom + CARD_HEIGHT > window.innerHeight;
  return isAbove
    ? { left, bottom: window.innerHeight - box.top + 4 }
    : { left, top: box.bottom + 4 };
}
