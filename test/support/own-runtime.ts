import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { inside, type InsideConversation } from "./inside.ts";
import { type Call, ORIGIN } from "./edge.ts";
import { remoteOf } from "./remote-of.ts";

export interface OwnRuntime {
  /** Calls the Worker; every conversation id leads to the one object. */
  readonly call: Call;
  readonly state: DurableObjectState;
  /** The object as it is now; another one after `wakeAgain`. */
  conversation(): InsideConversation;
  /** Forgets what is in memory, as an eviction does; or as a deployment, of another application. */
  wakeAgain(changed?: Partial<RuntimeOptions>): void;
}

export interface OwnSettings {
  /** Settings and bindings, beside or in place of those of the test Worker. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** Of the object. Default: it has none, and is nobody's conversation. */
  readonly name?: string;
}

/**
 * Runs the work inside of an object of its own, whose Worker, agents and model are these. Nothing of the
 * deployed test Worker takes part but its bindings.
 */
export function withRuntime<Result>(
  options: RuntimeOptions,
  work: (own: OwnRuntime) => Promise<Result>,
  settings?: OwnSettings,
): Promise<Result> {
  return run((changed) => createRuntime({ ...options, ...changed }), work, settings);
}

/** The same with a runtime that is made already, as an application exports it; it does not change. */
export function withWorker<Result>(
  runtime: Runtime,
  work: (own: Omit<OwnRuntime, "wakeAgain">) => Promise<Result>,
  settings?: OwnSettings,
): Promise<Result> {
  return run(() => runtime, work, settings);
}

function run<Result>(
  runtimeOf: (changed: Partial<RuntimeOptions>) => Runtime,
  work: (own: OwnRuntime) => Promise<Result>,
  { bindings: more, name }: OwnSettings = {},
): Promise<Result> {
  const { CONVERSATIONS } = env;
  const id = name === undefined ? CONVERSATIONS.newUniqueId() : CONVERSATIONS.idFromName(name);
  // Without settings it is the one object, of which what is made once is known.
  const ownEnv = more === undefined ? env : ({ ...env, ...more } as Cloudflare.Env);
  return runInDurableObject(CONVERSATIONS.get(id), (deployed, state) => {
    const { worker, Conversation } = runtimeOf({});
    let conversation = new Conversation(state, ownEnv);
    // The platform calls the deployed object's handler; the alarm is this one's.
    Object.assign(deployed, { alarm: () => conversation.alarm() });
    let ready: Promise<unknown> = Promise.resolve();
    // As the platform does, until the constructor is done.
    const remote = remoteOf(async () => {
      await ready;
      return conversation;
    });
    const namespace = { idFromName: (name: string) => name, get: () => remote };
    const bindings = { ...ownEnv, AUTH: "none", CONVERSATIONS: namespace };
    const call: Call = async (method, path, init = {}) => {
      const url = path.includes("://") ? path : `${ORIGIN}${path}`;
      const request = new Request(url, { ...init, method });
      // The namespace does what the Worker asks of one.
      return worker.fetch(request, bindings as unknown as Cloudflare.Env, createExecutionContext());
    };
    return work({
      call,
      state,
      conversation: () => inside(conversation),
      wakeAgain: (changed = {}) => {
        const { Conversation: Deployed } = runtimeOf(changed);
        conversation = new Deployed(state, ownEnv);
        ready = state.blockConcurrencyWhile(async () => undefined);
      },
    });
  });
}
