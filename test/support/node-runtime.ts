import { createRuntime, type RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { Ask } from "../chaos/writers.ts";
import type { WatchedSql } from "../store/watched-sql.ts";
import { NodeObject } from "./node-object.ts";
import { remoteOf } from "./remote-of.ts";

/** A Worker and the objects of its conversations in plain Node, in a process that dies and starts again. */
export class NodeRuntime {
  #runtime: ReturnType<typeof createRuntime>;
  readonly #objects = new Map<string, NodeObject>();
  #env: Cloudflare.Env;

  constructor(options: RuntimeOptions, bindings: object = {}) {
    this.#runtime = createRuntime(options);
    const namespace = {
      idFromName: (name: string) => name,
      get: (name: string) => remoteOf(() => this.#named(name).object()),
    };
    // The runtime asks no more of its bindings.
    this.#env = { AUTH: "none", LOG: "off", CONVERSATIONS: namespace, ...bindings } as never;
  }

  readonly ask: Ask = async (method, path, init = {}) => {
    const request = new Request(`http://localhost${path}`, { ...init, method });
    const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
    return this.#runtime.worker.fetch(request, this.#env, context as unknown as ExecutionContext);
  };

  objectOf(conversation: string): NodeObject {
    return this.#named(JSON.stringify(["local", conversation]));
  }

  /** What all objects together have read from SQLite, and written. */
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

  /** The process dies: what is in memory is gone, and what was written is not. */
  kill(): void {
    for (const object of this.#objects.values()) object.kill();
  }

  /** A process is there again, perhaps with another application. Nobody asks it for anything. */
  start(options?: RuntimeOptions, bindings: object = {}): void {
    if (options !== undefined) this.#runtime = createRuntime(options);
    this.#env = { ...this.#env, ...bindings };
    for (const object of this.#objects.values()) object.tick();
  }

  #named(name: string): NodeObject {
    const known = this.#objects.get(name);
    if (known !== undefined) return known;
    const made = new NodeObject(name, (state) => new this.#runtime.Conversation(state, this.#env));
    this.#objects.set(name, made);
    return made;
  }
}
