import type { Observed, Observer } from "./observer.ts";
import type { CallOptions, Prepared } from "./wrapped-tool.ts";

type Prepare<Input> = (input: Input, call: CallOptions) => Promise<Prepared>;

/** Prepares calls as `prepare` does. The observer of a call is notified when it runs or is refused. */
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
