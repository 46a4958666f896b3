import type { ChildProcess } from "node:child_process";
import * as limits from "../../../../src/limits.ts";
import { type QueryEngine, TOO_LONG, engineBehind } from "../../../query/src/query-engine.ts";

/**
 * A process that runs queries one at a time, and ends itself when one takes more than `cpuMs` of CPU: SQLite cannot be
 * interrupted from its own thread. Its tables are lost then, and the next query starts a new process.
 */
export class QueryProcess {
  readonly #file: string;
  readonly #cpuMs: number;
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #engines = 0;
  readonly #unused = new FinalizationRegistry<number>((engine) => {
    if (this.#child?.connected === true) this.#child.send({ engine });
  });

  constructor(file: string, cpuMs: number = limits.queryCpuMs) {
    this.#file = file;
    this.#cpuMs = cpuMs;
  }

  /** Opens a database in the process. */
  engine(): QueryEngine {
    const engine = ++this.#engines;
    // A killed process ends the query that it ran, and no other: there is one at a time.
    const opened = engineBehind((method, input) => this.#call({ engine, method, input }));
    this.#unused.register(opened, engine);
    return opened;
  }

  #call(call: EngineCall): Promise<unknown> {
    const answer = this.#last.then(() => this.#send(call));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  #send(call: EngineCall): Promise<unknown> {
    const child = (this.#child ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onMessage = (reply: EngineReply) => {
      if (reply.isLast === true) this.#forget(child);
      if ("error" in reply) reject(new Error(reply.error));
      else resolve(reply.output);
    };
    // Killed by the system, mostly because of its memory.
    const onExit = (_: number | null, signal: string | null) => {
      if (call.method === "run" && signal !== null) resolve(TOO_LONG);
      else reject(new Error("The process of queries has ended. Try again."));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
    child.once("error", reject);
    // The program may end when no query runs.
    child.ref();
    child.channel?.ref();
    child.send(call);
    return promise.finally(() => {
      child.off("message", onMessage);
      child.off("exit", onExit);
      child.off("error", reject);
      child.unref();
      child.channel?.unref();
    });
  }

  #start(): ChildProcess {
    // No access to the program's settings, such as keys of models.
    // Not imported, because bundlers for other platforms do not know the module.
    const { fork } = process.getBuiltinModule("node:child_process");
    const execArgv = ["--disable-warning=ExperimentalWarning"];
    const options = { serialization: "advanced" as const, env: {}, execArgv };
    const child = fork(this.#file, [String(this.#cpuMs)], options);
    for (const event of ["exit", "disconnect"]) child.once(event, () => this.#forget(child));
    return child;
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
  }
}

/** A call of an engine, by its number. Without a method: the engine is no longer used. */
export interface EngineCall {
  readonly engine: number;
  readonly method?: keyof QueryEngine;
  readonly input?: readonly unknown[];
}

/** `isLast`: the process ends, because the call took too long. */
export type EngineReply = { readonly isLast?: boolean } & (
  | { readonly output: unknown }
  | { readonly error: string }
);
