/// <reference types="@cloudflare/vitest-pool-workers/types" />
/// <reference lib="esnext.disposable" />
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Client, createClient } from "../../../client/src/client/create-client.ts";
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
} from "../../../../src/edge/create-runtime.ts";
import { ownObjects } from "./own-objects.ts";

/** An application that runs in the test's Worker. */
export interface TestRuntime extends AsyncDisposable {
  /** The origin that the Worker answers at. */
  readonly url: string;
  /** Sends a request to the application's Worker; a path such as `/agents` is relative to `url`. */
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
  /** A client of `byref/client`. It requests broken streams again, so an answer survives a restart. */
  readonly client: Client;
  /**
   * Aborts the application's conversation objects, as a crash does: what is in memory is lost, what is stored
   * stays. Then wakes them, which continues their turns. Changed options make it a deployment.
   */
  restart(changed?: Partial<RuntimeOptions>): Promise<void>;
  /** Stops what still runs and deletes the conversations. `await using` calls it, too. */
  close(): Promise<void>;
}

export interface TestSettings {
  /**
   * Settings and bindings beside or in place of those in `wrangler.toml`. By default `AUTH` is `none`, so that
   * requests need no key, and `LOG` is `off`.
   */
  readonly bindings?: Readonly<Record<string, unknown>>;
}

const ORIGIN = "http://localhost";

/** Throws if the test's Worker has no class of `createRuntime`. */
export async function openRuntime(
  options: RuntimeOptions,
  { bindings = {} }: TestSettings,
): Promise<TestRuntime> {
  const { CONVERSATIONS, DIRECTORY } = { ...env, ...bindings } as Readonly<
    Partial<Record<"CONVERSATIONS" | "DIRECTORY", DurableObjectNamespace>>
  >;
  if (CONVERSATIONS === undefined) {
    throw new Error("startRuntime needs the binding CONVERSATIONS in wrangler.toml.");
  }
  const world = newWorld();
  const create = (changed: Partial<RuntimeOptions>) => createRuntime({ ...options, ...changed });
  let runtime: Runtime = create({});
  const objects = await ownObjects(
    CONVERSATIONS,
    (state) => new runtime.Conversation(state, ownEnv),
  );
  // The runtime uses no other method of a namespace.
  const ownEnv = {
    ...env,
    AUTH: "none",
    LOG: "off",
    ...bindings,
    CONVERSATIONS: inWorld(CONVERSATIONS, world, objects.own),
    ...(DIRECTORY && { DIRECTORY: inWorld(DIRECTORY, world) }),
  } as unknown as Cloudflare.Env;
  const send: TestRuntime["fetch"] = async (request, init) => {
    const sent =
      typeof request === "string" ? new Request(new URL(request, ORIGIN), init) : request;
    return runtime.worker.fetch(sent, ownEnv, createExecutionContext());
  };
  const close = () => objects.delete();
  return {
    url: ORIGIN,
    fetch: send,
    client: createClient(ORIGIN, { fetch: send }),
    restart: async (changed = {}) => {
      runtime = create(changed);
      await objects.crash();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** White space after a name, which is JSON: another object, of the same tenant and conversation. */
function newWorld(): string {
  const bits = crypto.getRandomValues(new Uint8Array(64));
  return Array.from(bits, (byte) => (byte < 128 ? " " : "\t")).join("");
}

/** A namespace whose objects no other test has, although their names are the same. */
function inWorld(
  namespace: Namespace,
  world: string,
  onId?: (id: DurableObjectId, of: Namespace) => void,
): Namespace {
  return {
    idFromName: (name) => {
      const id = namespace.idFromName(name + world);
      onId?.(id, namespace);
      return id;
    },
    get: (id, options) => namespace.get(id, options),
    jurisdiction: (name) =>
      inWorld(namespace.jurisdiction(name), world, onId) as DurableObjectNamespace,
  };
}

type Namespace = Pick<DurableObjectNamespace, "idFromName" | "get" | "jurisdiction">;
