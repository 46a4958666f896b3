import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton, moveFocus } from "../controls.tsx";
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
  /** `tabIndex` of the button. -1 if another key than Tab moves the focus to it. */
  readonly tabIndex?: number;
  readonly choices: readonly Choice[];
}

/** A menu. Arrow keys move through it; Escape or a click elsewhere closes it. */
export function Menu({ label, tabIndex, choices }: MenuProps) {
  const own = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  const itemsIn = () => own.current?.querySelectorAll<HTMLElement>(".menu-item:enabled") ?? [];
  // Moves the focus before the menu is painted or another key is pressed.
  useLayoutEffect(() => {
    if (isOpen) [...itemsIn()].find(({ offsetParent }) => offsetParent !== null)?.focus();
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = ({ target }: PointerEvent) => {
      if (!(target instanceof Node && own.current?.contains(target))) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [isOpen]);
  return (
    <div
      ref={own}
      className="menu"
      onKeyDown={(event) => {
        if (!isOpen) return;
        moveFocus(event, ".menu-item:enabled");
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
      onBlur={({ relatedTarget: to }) => {
        if (to !== null && own.current?.contains(to) === false) setOpen(false);
      }}
    >
      <IconButton
        ref={opener}
        icon="dots"
        label={label}
        title={label}
        tabIndex={tabIndex}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen((open) => !open)}
      />
      {isOpen && (
        <div className="menu-list" role="menu" aria-label={label}>
          {choices.map((choice) => (
            <Button
              key={choice.word}
              role="menuitem"
              className={classesOf(choice)}
              disabled={choice.isOff}
              onClick={() => {
                close();
                choice.act();
              }}
            >
              <Icon name={choice.icon} size={16} />
              {choice.word}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

function classesOf({ isDangerous = false, isForPhones = false }: Choice): string {
  return `menu-item${isDangerous ? " menu-danger" : ""}${isForPhones ? " menu-phone" : ""}`;
}
