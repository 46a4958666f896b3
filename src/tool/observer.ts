/** An activity that takes time: its names, without any content. */
export interface Activity extends Partial<ModelName> {
  readonly kind: "agent" | "model" | "tool";
  /** Name of the agent, the model or the tool. */
  readonly name: string;
  /** Set for a tool call. */
  readonly toolCallId?: string;
}

/** The model of an agent or of a model call. */
export interface ModelName {
  readonly model: string;
  /** The provider's name in the AI SDK, e.g. `anthropic.messages`. */
  readonly provider: string;
}

/** The outcome of an activity, in codes and counts. */
export interface Outcome {
  /** A Byref error code, or the status of an endpoint's response; absent after a success. */
  readonly error?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** Is notified when an activity begins. Receives no values and must not throw. */
export interface Observer {
  begin(activity: Activity): ObservedActivity;
}

/** An activity that has begun. It observes the activities inside of it. */
export interface ObservedActivity extends Observer {
  /** Records the first part of the response. Further calls have no effect. */
  firstOutput(): void;
  /** Records the end. Further calls have no effect. */
  end(outcome?: Outcome): void;
}
