import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { inside, type InsideConversation } from "./inside.ts";
import { type Call, ORIGIN } from "./edge.ts";
import { remoteOf } from "./remote-of.ts";

export interface OwnRuntime {
  /** Calls the Worker. Every conversation id leads to the same object. */
  readonly call: Call;
  readonly state: DurableObjectState;
  /** Returns the current object. `wakeAgain` replaces it. */
  conversation(): InsideConversation;
  /** Drops what is in memory, as an eviction does, or as a deployment if the application changes. */
  wakeAgain(changed?: Partial<RuntimeOptions>): void;
  /** Resolves when the constructor's work is done. `call` waits by itself. */
  awake(): Promise<unknown>;
}

interface OwnSettings {
  /** Settings and bindings that extend or replace those of the test Worker. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** Name of the object. Default: none, so it belongs to no conversation. */
  readonly name?: string;
}

/**
 * Runs `work` inside a new object with this Worker, agents and model. Uses nothing of the deployed test
 * Worker except its bindings.
 */
export function withRuntime<Result>(
  options: RuntimeOptions,
  work: (own: OwnRuntime) => Promise<Result>,
  settings?: OwnSettings,
): Promise<Result> {
  return run((changed) => createRuntime({ ...options, ...changed }), work, settings);
}

/** Does the same with an existing runtime, as an application exports it. It cannot change. */
export function withWorker<Result>(
  runtime: Runtime,
  work: (own: Omit<OwnRuntime, "wakeAgain" | "awake">) => Promise<Result>,
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
  // Without settings, keeps the identity of `env`, by which the runtime caches what it creates once.
  const ownEnv = more === undefined ? env : ({ ...env, ...more } as Cloudflare.Env);
  return runInDurableObject(CONVERSATIONS.get(id), (deployed, state) => {
    const { worker, Conversation } = runtimeOf({});
    let conversation = new Conversation(state, ownEnv);
    // The platform calls the alarm handler of the deployed object, so it forwards to this one.
    Object.assign(deployed, { alarm: () => conversation.alarm() });
    let ready: Promise<unknown> = Promise.resolve();
    // Calls wait for the constructor, as on the platform.
    const remote = remoteOf(async () => {
      await ready;
      return conversation;
    });
    const namespace = { idFromName: (name: string) => name, get: () => remote };
    const bindings = { ...ownEnv, AUTH: "none", CONVERSATIONS: namespace };
    const call: Call = async (method, path, init = {}) => {
      const url = path.includes("://") ? path : `${ORIGIN}${path}`;
      const request = new Request(url, { ...init, method });
      // The namespace has every method that the Worker calls.
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
      awake: () => ready,
    });
  });
}
