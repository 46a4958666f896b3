import type { ReactNode } from "react";
import { Button } from "../controls.tsx";
import { type Waiting, WaitingCount } from "../chat/waiting.tsx";
import type { SideTab, Tab, View } from "../conversation-context.ts";
import { Icon } from "../icon.tsx";
import "./side.css";

/** Each has an icon of its name. */
const sideTabs: readonly (readonly [SideTab, word: string])[] = [
  ["variables", "Variables"],
  ["plans", "Plans"],
  ["events", "Events"],
  ["meter", "Meter"],
];

interface TabsProps {
  readonly open: (view: Partial<View>) => void;
  /** Number of variables. */
  readonly count: number;
  readonly waiting: Waiting;
}

interface SideProps extends TabsProps {
  readonly tab: SideTab;
  readonly children: ReactNode;
}

/** The side panel of a conversation, with one tab open at a time. */
export function Side({ tab, open, count, waiting, children }: SideProps) {
  const move = (step: number) => {
    const at = sideTabs.findIndex(([id]) => id === tab);
    const [next = tab] = sideTabs[(at + step + sideTabs.length) % sideTabs.length] ?? [];
    open({ tab: next });
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
        {sideTabs.map(([id, word]) => (
          <Button
            key={id}
            id={`tab-${id}`}
            role="tab"
            aria-selected={id === tab}
            aria-controls="side-panel"
            tabIndex={id === tab ? 0 : -1}
            className="side-tab"
            onClick={() => open({ tab: id })}
          >
            {word} {id === "variables" && count > 0 && <span className="side-count">{count}</span>}
            {id === "plans" && <WaitingCount count={waiting.plans.length} />}
          </Button>
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

/** Tabs for a phone, where only one view fits at a time. */
export function BottomTabs({ tab, open, count, waiting }: TabsProps & { readonly tab: Tab }) {
  const needed = { talk: waiting.calls, plans: waiting.plans.length };
  const tabs = [["talk", "Conversation"] as const, ...sideTabs];
  return (
    <nav className="bottom-tabs" aria-label="Views">
      {tabs.map(([id, word]) => (
        <Button
          key={id}
          className="bottom-tab"
          aria-current={id === tab ? "page" : undefined}
          onClick={() => open({ tab: id })}
        >
          <span className="bottom-icon">
            <Icon name={id} />
            {id === "variables" && count > 0 && <span className="bottom-count">{count}</span>}
            <WaitingCount count={id === "talk" || id === "plans" ? needed[id] : 0} />
          </span>
          <span>{word}</span>
        </Button>
      ))}
    </nav>
  );
}
