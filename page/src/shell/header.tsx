import { useEffect, useState } from "react";
import { Icon } from "../icon.tsx";
import { type Choice, Menu } from "./menu.tsx";
import type { Theme } from "./use-theme.ts";
import "./header.css";

export interface AgentChoice {
  readonly name: string;
  readonly description: string;
}

interface HeaderProps {
  readonly title: string | null | undefined;
  readonly rename: ((title: string) => void) | undefined;
  readonly agents: readonly AgentChoice[];
  readonly agent: string | undefined;
  readonly setAgent: (name: string) => void;
  readonly theme: Theme;
  readonly setTheme: (theme: Theme) => void;
  readonly choices: readonly Choice[];
  readonly isListOpen: boolean;
  readonly toggleList: () => void;
}

export function Header(props: HeaderProps) {
  const { agents, agent, setAgent, theme, setTheme } = props;
  const other = theme === "dark" ? "light" : "dark";
  const icon = theme === "dark" ? "sun" : "moon";
  const change = () => setTheme(other);
  const themed: Choice = { icon, word: `Use the ${other} theme`, isForPhones: true, act: change };
  return (
    <header className="header">
      <button
        type="button"
        className="icon-button"
        aria-label="Conversations"
        aria-expanded={props.isListOpen}
        aria-controls="conversations"
        onClick={props.toggleList}
      >
        <Icon name="list" />
      </button>
      <Title title={props.title} rename={props.rename} />
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
      <button
        type="button"
        className="icon-button header-theme"
        aria-label={themed.word}
        onClick={change}
      >
        <Icon name={icon} />
      </button>
      <Menu label="More" choices={[themed, ...props.choices]} />
    </header>
  );
}

/** The title. Becomes a field when clicked: Enter saves, Escape cancels. */
function Title({ title, rename }: Pick<HeaderProps, "title" | "rename">) {
  const [draft, setDraft] = useState<string>();
  useEffect(() => {
    setDraft(undefined);
  }, [title]);
  const shown = title ?? "New conversation";
  if (draft === undefined || rename === undefined) {
    return (
      <h1 className="header-title">
        {rename === undefined ? (
          shown
        ) : (
          <button type="button" title="Rename" onClick={() => setDraft(shown)}>
            {shown}
          </button>
        )}
      </h1>
    );
  }
  const keep = () => {
    setDraft(undefined);
    if (draft.trim() !== "" && draft !== title) rename(draft.trim());
  };
  return (
    <form
      className="header-title"
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <input
        aria-label="Title"
        value={draft}
        maxLength={200}
        // Clicking the title moves the focus into the field.
        ref={(field) => field?.focus()}
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={keep}
        onKeyDown={({ key }) => key === "Escape" && setDraft(undefined)}
      />
    </form>
  );
}
