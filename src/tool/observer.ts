/** Something that takes time: who does it, and nothing of what is said in it. */
export interface Activity extends Partial<ModelName> {
  readonly kind: "agent" | "model" | "tool";
  /** Of the agent, the model or the tool. */
  readonly name: string;
  /** Of a tool's call. */
  readonly toolCallId?: string;
}

/** The model that an agent has, or that is called. */
export interface ModelName {
  readonly model: string;
  /** As the AI SDK calls it, e.g. `anthropic.messages`. */
  readonly provider: string;
}

/** What came of it, in codes and counts. */
export interface Outcome {
  /** One of our codes, or the status that an endpoint answered with; absent if it went well. */
  readonly error?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** Told of what begins. It is given no values; it must not throw. */
export interface Observer {
  begin(activity: Activity): Observed;
}

/** Something that has begun. What begins inside of it is told to it. */
export interface Observed extends Observer {
  /** The first of its answer is there; further calls say nothing new. */
  answers(): void;
  /** It is over; further calls say nothing new. */
  end(outcome?: Outcome): void;
}
