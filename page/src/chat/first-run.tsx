import "./first-run.css";

export interface Example {
  readonly title: string;
  readonly question: string;
  readonly about: string;
  /** Who answers it. */
  readonly agent: string;
}

const examples: readonly Example[] = [
  {
    title: "Two cities",
    question: "Compare the weather in Oslo and Cairo",
    about: "Two results become variables, and a third call gets both by name.",
    agent: "weather",
  },
  {
    title: "5,000 orders",
    question: "What are the monthly totals of my orders?",
    about: "The orders go from tool to tool. The model reads none of them.",
    agent: "orders",
  },
  {
    title: "A page of 300 KB",
    question: "Change the prices on my page, and publish it.",
    about: "Large text is rewritten by reference. You see how before it goes out.",
    agent: "pages",
  },
  {
    title: "A plan",
    question: "Make a plan: monthly totals of my orders, then a report.",
    about: "Work that is written down first, and runs when you approve it.",
    agent: "orders",
  },
];

interface FirstRunProps {
  /** Those who can answer. */
  readonly agents: readonly string[];
  readonly ask: (example: Example) => void;
}

/** What this is, and something to try. */
export function FirstRun({ agents, ask }: FirstRunProps) {
  const known = examples.filter(({ agent }) => agents.includes(agent));
  return (
    <div className="first-run">
      <h2 className="first-run-title">
        Tools return variables.
        <br />
        The model passes them by reference.
      </h2>
      <p className="first-run-lead">
        Ask something, and watch what each tool returns appear beside the conversation. The model
        writes <code>$orders</code>; tools and you get the data.
      </p>
      <div className="first-run-examples">
        {known.map((example) => (
          <button
            key={example.title}
            type="button"
            className="first-run-card"
            onClick={() => ask(example)}
          >
            <span className="first-run-name">{example.title}</span>
            <span className="first-run-text">
              <span className="first-run-question">{example.question}</span>
              <span className="first-run-about">{example.about}</span>
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}
