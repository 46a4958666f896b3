import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon, type IconName } from "../icon.tsx";
import "./menu.css";

export interface Choice {
  readonly icon: IconName;
  readonly word: string;
  readonly isOff?: boolean;
  readonly isDangerous?: boolean;
  /** True for a choice that is shown only on phones, where it has no button elsewhere. */
  readonly isForPhones?: boolean;
  readonly act: () => void;
}

interface MenuProps {
  readonly label: string;
  /** Icon of the button that opens the menu. Default: three dots. */
  readonly icon?: IconName;
  /** Where the choices appear. Default: `below`. */
  readonly place?: "above" | "below";
  /** `tabIndex` of the button. -1 if another key than Tab moves the focus to it. */
  readonly tabIndex?: number;
  readonly choices: readonly Choice[];
}

/** A menu. Arrow keys move through it; Escape or a click elsewhere closes it. */
export function Menu({ label, icon = "dots", place = "below", tabIndex, choices }: MenuProps) {
  const own = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const { isOpen, setOpen, onKeyDown, onBlur } = useMenu(own, opener);
  return (
    <div ref={own} className="menu" onKeyDown={onKeyDown} onBlur={onBlur}>
      <button
        ref={opener}
        type="button"
        className="icon-button"
        aria-label={label}
        aria-haspopup="menu"
        tabIndex={tabIndex}
        aria-expanded={isOpen}
        title={label}
        onClick={() => setOpen((open) => !open)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div className={`menu-list menu-${place}`} role="menu" aria-label={label}>
          {choices.map((choice) => (
            <button
              key={choice.word}
              type="button"
              role="menuitem"
              className={classesOf(choice)}
              disabled={choice.isOff}
              onClick={() => {
                setOpen(false);
                opener.current?.focus();
                choice.act();
              }}
            >
              <Icon name={choice.icon} size={16} />
              {choice.word}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function classesOf({ isDangerous = false, isForPhones = false }: Choice): string {
  return `menu-item${isDangerous ? " menu-danger" : ""}${isForPhones ? " menu-phone" : ""}`;
}

function useMenu(own: RefObject<HTMLElement | null>, opener: RefObject<HTMLElement | null>) {
  const [isOpen, setOpen] = useState(false);
  // Moves the focus before the menu is painted or another key is pressed.
  useLayoutEffect(() => {
    if (isOpen) itemsIn(own.current)[0]?.focus();
  }, [isOpen, own]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = ({ target }: PointerEvent) => {
      if (!(target instanceof Node && own.current?.contains(target))) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [isOpen, own]);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      opener.current?.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    moveFocus(own.current, step);
  };
  const onBlur = ({ relatedTarget }: React.FocusEvent) => {
    const isInside = relatedTarget === null || own.current?.contains(relatedTarget) === true;
    if (!isInside) setOpen(false);
  };
  return { isOpen, setOpen, onKeyDown, onBlur };
}

function itemsIn(element: HTMLElement | null): readonly HTMLButtonElement[] {
  const items = element?.querySelectorAll<HTMLButtonElement>(".menu-item:enabled") ?? [];
  return [...items].filter(({ offsetParent }) => offsetParent !== null);
}

function moveFocus(element: HTMLElement | null, step: number): void {
  const items = itemsIn(element);
  const at = items.findIndex((item) => item === document.activeElement);
  items[(at + step + items.length) % items.length]?.focus();
}
