import { createRuntime, type RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { ConversationObject } from "../../src/edge/conversation.ts";
import type { DirectoryObject } from "../../src/edge/directory/directory.ts";
import type { Ask } from "../chaos/writers.ts";
import type { WatchedSql } from "../store/watched-sql.ts";
import { NodeObject } from "./node-object.ts";
import { remoteOf } from "./remote-of.ts";

/** A Worker and its conversation objects in plain Node, in a process that can die and restart. */
export class NodeRuntime {
  #runtime: ReturnType<typeof createRuntime>;
  readonly #objects = new Map<string, NodeObject>();
  readonly #directories = new Map<string, NodeObject<DirectoryObject>>();
  #env: Cloudflare.Env;

  constructor(options: RuntimeOptions, bindings: object = {}) {
    this.#runtime = createRuntime(options);
    const namespace = {
      idFromName: (name: string) => name,
      get: (name: string) => remoteOf(() => this.#named(name).object()),
    };
    const directories = {
      idFromName: (name: string) => name,
      get: (name: string) => remoteOf(() => this.directoryNamed(name).object()),
    };
    // The runtime uses no other bindings.
    this.#env = {
      AUTH: "none",
      LOG: "off",
      CONVERSATIONS: namespace,
      DIRECTORY: directories,
      ...bindings,
    } as never;
  }

  readonly ask: Ask = async (method, path, init = {}) => {
    const request = new Request(`http://localhost${path}`, { ...init, method });
    const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
    return this.#runtime.worker.fetch(request, this.#env, context as unknown as ExecutionContext);
  };

  objectOf(conversation: string): NodeObject {
    return this.#named(JSON.stringify(["local", conversation]));
  }

  objectNamed(name: string): NodeObject {
    return this.#named(name);
  }

  /** Counts the units that all objects together have read from and written to SQLite. */
  get counted(): Pick<WatchedSql, "unitsRead" | "unitsWritten"> {
    const sum = (key: "unitsRead" | "unitsWritten") =>
      [...this.#objects.values()].reduce((units, { sql }) => units + sql[key], 0);
    return {
      get unitsRead() {
        return sum("unitsRead");
      },
      get unitsWritten() {
        return sum("unitsWritten");
      },
    };
  }

  /** Kills the process: memory is lost, written data survives. */
  kill(): void {
    for (const object of this.#all) object.kill();
  }

  /** Starts a process again, with another application if given. Sends no requests to it. */
  start(options?: RuntimeOptions, bindings: object = {}): void {
    if (options !== undefined) this.#runtime = createRuntime(options);
    this.#env = { ...this.#env, ...bindings };
    for (const object of this.#all) object.tick();
  }

  get #all(): readonly NodeObject<ConversationObject | DirectoryObject>[] {
    return [...this.#objects.values(), ...this.#directories.values()];
  }

  /** Default: that of the tenant of requests without a key. */
  directoryNamed(name = JSON.stringify(["local", "directory"])): NodeObject<DirectoryObject> {
    const known = this.#directories.get(name);
    if (known !== undefined) return known;
    const made = new NodeObject(name, (state) => new this.#runtime.Directory(state, this.#env));
    this.#directories.set(name, made);
    return made;
  }

  #named(name: string): NodeObject {
    const known = this.#objects.get(name);
    if (known !== undefined) return known;
    const made = new NodeObject(name, (state) => new this.#runtime.Conversation(state, this.#env));
    this.#objects.set(name, made);
    return made;
  }
}
