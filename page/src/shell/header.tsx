import { useEffect, useState } from "react";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { IconButton } from "../controls.tsx";
import { useMedia } from "../hooks.ts";
import { Icon } from "../icon.tsx";
import { type Choice, Menu } from "./menu.tsx";
import { RenameForm } from "./rename-form.tsx";
import "./header.css";

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
