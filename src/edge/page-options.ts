/** How the page presents an application; `GET /agents` returns it as `page`. */
export interface PageOptions {
  /** Name of the application: the headline of a new conversation, and in the window's title. Default: `Byref`. */
  readonly title?: string;
  /** A sentence or two about the application, below the headline. */
  readonly lead?: string;
  /** CSS colours, one for both themes or one for each. The page derives the others. */
  readonly colors?: Readonly<Partial<Record<PageColor, ColorOfPage>>>;
  /** Questions to start with. Default: none. */
  readonly examples?: readonly ExampleQuestion[];
  /** The agent that is chosen at first. Default: the first of `agents`. */
  readonly agent?: string;
}

/** `accent`: references and what shows them; `accentText`: text on it. Buttons have `text` and `background`. */
export type PageColor = "accent" | "accentText" | "background" | "surface" | "text";

export type ColorOfPage = string | { readonly light: string; readonly dark: string };

export interface ExampleQuestion {
  readonly question: string;
  /** A few words, such as `5,000 orders`. */
  readonly title: string;
  /** A sentence about what the question shows. */
  readonly about?: string;
  /** The agent that answers it. Default: the chosen one. */
  readonly agent?: string;
  /** Tokens that its answer took when it was measured. The page draws those of the first example that has them. */
  readonly measured?: MeasuredTokens;
}

/** Tokens of all prompts of a turn. */
export interface MeasuredTokens {
  readonly sent: number;
  readonly withoutReferences: number;
}

/** The model that answers, as the page names it. */
export interface ModelDescription {
  readonly provider?: string;
  readonly id: string;
}

/** The response of `GET /agents`. */
export interface AgentsDescription {
  readonly agents: readonly { readonly name: string; readonly description: string }[];
  /** Absent where the model cannot be made, because a setting is missing. */
  readonly model?: ModelDescription;
  readonly page?: PageOptions;
}
