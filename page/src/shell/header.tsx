import { useEffect, useId, useState } from "react";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import {
  Button,
  Form,
  Icon,
  IconButton,
  type IconName,
  isOfInputMethod,
  moveFocus,
} from "../controls.tsx";
import { useMedia } from "../hooks.ts";
import "./header.css";
import "./menu.css";

interface HeaderProps {
  readonly title: string | null | undefined;
  readonly rename: ((title: string) => void) | undefined;
  readonly agents: AgentsDescription["agents"];
  readonly agent: string | undefined;
  readonly setAgent: (name: string) => void;
  readonly choices: readonly Choice[];
  readonly isListOpen: boolean;
  readonly toggleList: () => void;
}

export function Header(props: HeaderProps) {
  const { agents, agent, setAgent, choices, isListOpen, toggleList } = props;
  const themed = useTheme();
  return (
    <header className="header">
      <IconButton
        icon="list"
        label="Conversations"
        aria-expanded={isListOpen}
        aria-controls="conversations"
        onClick={toggleList}
      />
      <Title key={props.title} title={props.title} rename={props.rename} />
      {agents.length > 0 && (
        <label className="header-agent">
          <span className="unseen">Agent</span>
          <select
            value={agent}
            title={agents.find(({ name }) => name === agent)?.description}
            onChange={({ target }) => setAgent(target.value)}
          >
            {agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <Icon name="chevron" size={14} />
        </label>
      )}
      <IconButton
        className="icon-button header-theme"
        icon={themed.icon}
        label={themed.word}
        onClick={themed.act}
      />
      <Menu label="More" choices={[themed, ...choices]} />
    </header>
  );
}

/** The title. Becomes a field when clicked. */
function Title({ title, rename }: Pick<HeaderProps, "title" | "rename">) {
  const [isEdited, setEdited] = useState(false);
  const shown = title === undefined ? "Loading…" : (title ?? "New conversation");
  if (isEdited && rename !== undefined) {
    const done = (next?: string) => {
      setEdited(false);
      if (next !== undefined) rename(next);
    };
    return <RenameForm className="header-title" label="Title" title={shown} onDone={done} />;
  }
  return (
    <h1 className="header-title">
      {rename === undefined ? (
        shown
      ) : (
        <button type="button" title="Rename" onClick={() => setEdited(true)}>
          {shown}
        </button>
      )}
    </h1>
  );
}

const KEY = "byref-theme";

/** Applies the theme that the user has chosen, or else the system's. Returns the choice of the other one. */
function useTheme(): Choice {
  const system = useMedia("(prefers-color-scheme: dark)") ? "dark" : "light";
  const [chosen, setChosen] = useState(() => localStorage.getItem(KEY));
  const theme = chosen === "light" || chosen === "dark" ? chosen : undefined;
  const isDark = (theme ?? system) === "dark";
  const other = isDark ? "light" : "dark";
  useEffect(() => {
    if (theme === undefined) return;
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return {
    icon: isDark ? "sun" : "moon",
    word: `Use the ${other} theme`,
    isForPhones: true,
    act: () => setChosen(other),
  };
}

interface RenameFormProps {
  readonly className: string;
  /** Name of the field, for screen readers. */
  readonly label: string;
  readonly title: string;
  /** Called with the new title, or without one to keep the old title. */
  readonly onDone: (title?: string) => void;
}

/** Field for a title. Enter saves, Escape cancels. */
export function RenameForm({ className, label, title, onDone }: RenameFormProps) {
  const [draft, setDraft] = useState(title);
  const isNew = draft.trim() !== "" && draft.trim() !== title;
  const save = () => onDone(isNew ? draft.trim() : undefined);
  return (
    <Form className={className} onSubmit={save}>
      <input
        className="field"
        aria-label={label}
        value={draft}
        maxLength={200}
        autoFocus
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={save}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape" && !isOfInputMethod(event)) onDone();
        }}
      />
    </Form>
  );
}

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
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="menu">
      <IconButton
        icon="dots"
        label={label}
        title={label}
        tabIndex={tabIndex}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popoverTarget={id}
      />
      <div
        id={id}
        popover="auto"
        className="menu-list"
        role="menu"
        aria-label={label}
        onBeforeToggle={({ newState }) => newState === "open" && setOpen(true)}
        onToggle={({ newState, currentTarget: list }) => {
          const items = [...list.querySelectorAll<HTMLElement>(".menu-item:enabled")];
          if (newState === "closed") setOpen(false);
          else items.find((item) => item.checkVisibility())?.focus();
        }}
        onKeyDown={(event) => {
          moveFocus(event, ".menu-item:enabled");
          // It closes the menu alone.
          if (event.key === "Escape") event.stopPropagation();
        }}
        onBlur={({ relatedTarget: to, currentTarget: list }) => {
          if (to !== null && !list.contains(to)) list.hidePopover();
        }}
      >
        {isOpen &&
          choices.map((choice) => (
            <Button
              key={choice.word}
              role="menuitem"
              className={classesOf(choice)}
              disabled={choice.isOff}
              onClick={({ currentTarget }) => {
                currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
                choice.act();
              }}
            >
              <Icon name={choice.icon} size={16} />
              {choice.word}
            </Button>
          ))}
      </div>
    </div>
  );
}

function classesOf({ isDangerous = false, isForPhones = false }: Choice): string {
  return `menu-item${isDangerous ? " menu-danger" : ""}${isForPhones ? " menu-phone" : ""}`;
}
