import type { ReactNode } from "react";
import type { Waiting } from "../chat/use-waiting.ts";
import { WaitingCount } from "../chat/waiting-count.tsx";
import { Icon, type IconName } from "../icon.tsx";
import "./side.css";

export type Tab = "talk" | SideTab;
export type SideTab = "variables" | "plans" | "events" | "meter";

const sideTabs: readonly {
  readonly id: SideTab;
  readonly word: string;
  readonly icon: IconName;
}[] = [
  { id: "variables", word: "Variables", icon: "variables" },
  { id: "plans", word: "Plans", icon: "plans" },
  { id: "events", word: "Events", icon: "events" },
  { id: "meter", word: "Meter", icon: "meter" },
];

interface SideProps {
  readonly tab: SideTab;
  readonly setTab: (tab: SideTab) => void;
  /** Number of variables. */
  readonly count: number;
  readonly waiting: Waiting;
  readonly children: ReactNode;
}

/** The side panel of a conversation, with one tab open at a time. */
export function Side({ tab, setTab, count, waiting, children }: SideProps) {
  const move = (step: number) => {
    const at = sideTabs.findIndex(({ id }) => id === tab);
    const next = sideTabs[(at + step + sideTabs.length) % sideTabs.length]?.id ?? tab;
    setTab(next);
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section className="side" aria-label="About the conversation">
      <div
        className="side-tabs"
        role="tablist"
        aria-label="About the conversation"
        onKeyDown={({ key }) => {
          if (key === "ArrowRight") move(1);
          if (key === "ArrowLeft") move(-1);
        }}
      >
        {sideTabs.map(({ id, word }) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === tab}
            aria-controls="side-panel"
            tabIndex={id === tab ? 0 : -1}
            className="side-tab"
            onClick={() => setTab(id)}
          >
            {word} {id === "variables" && count > 0 && <span className="side-count">{count}</span>}
            {id === "plans" && <WaitingCount count={waiting.plans.length} />}
          </button>
        ))}
      </div>
      <div
        id="side-panel"
        className="side-panel"
        role="tabpanel"
        aria-labelledby={`tab-${tab}`}
        // Focusable, because not every panel contains an element that keys could scroll to.
        tabIndex={0}
      >
        {children}
      </div>
    </section>
  );
}

interface BottomTabsProps {
  readonly tab: Tab;
  readonly setTab: (tab: Tab) => void;
  readonly count: number;
  readonly waiting: Waiting;
}

/** Tabs for a phone, where only one view fits at a time. */
export function BottomTabs({ tab, setTab, count, waiting }: BottomTabsProps) {
  const needed = (id: Tab) =>
    id === "talk" ? waiting.calls : id === "plans" ? waiting.plans.length : 0;
  const tabs = [{ id: "talk", word: "Conversation", icon: "talk" } as const, ...sideTabs];
  return (
    <nav className="bottom-tabs" aria-label="Views">
      {tabs.map(({ id, word, icon }) => (
        <button
          key={id}
          type="button"
          className="bottom-tab"
          aria-current={id === tab ? "page" : undefined}
          onClick={() => setTab(id)}
        >
          <span className="bottom-icon">
            <Icon name={icon} />
            {id === "variables" && count > 0 && <span className="bottom-count">{count}</span>}
          </span>
          <span>
            {word}
            <WaitingCount count={needed(id)} />
          </span>
        </button>
      ))}
    </nav>
  );
}
