import type { CallOptions, Prepared } from "./wrapped-tool.ts";

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

type Prepare<Input> = (input: Input, call: CallOptions) => Promise<Prepared>;

/** The same, and whoever observes the call is told when it runs, or that it is refused. */
export function observed<Input>(name: string, prepare: Prepare<Input>): Prepare<Input> {
  return async (input, call) => {
    const { observer, toolCallId } = call;
    if (observer === undefined) return prepare(input, call);
    let running: Observed | undefined;
    const begin = () => observer.begin({ kind: "tool", name, toolCallId });
    const inside: Observer = { begin: (activity) => (running ?? observer).begin(activity) };
    const prepared = await prepare(input, { ...call, observer: inside });
    if (prepared.kind === "failed") {
      begin().end({ error: prepared.code });
      return prepared;
    }
    return {
      ...prepared,
      run: async () => {
        running = begin();
        const run = await prepared.run();
        running.end({ error: run.kind === "failed" ? run.code : undefined });
        return run;
      },
    };
  };
}
