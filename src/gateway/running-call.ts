import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/server";
import * as limits from "./gateway-limits.ts";
import type { ApprovalNeeded, CallAnswer, Gateway, GatewayCall } from "./gateway.ts";
import type { Progress } from "./upstream.ts";

/** A question of a server to a person, in the middle of a call. */
interface Question {
  readonly kind: "question";
  readonly params: ElicitRequestParams;
}

/** What one request of a client is answered with. */
type RoundAnswer = CallAnswer | ApprovalNeeded | Question;

/** The request of a client that currently waits for the call. */
export interface Round {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * A call that may outlive one request of its client: when a server asks a person, the request ends with the
 * question, and the next one brings the answer.
 */
export class RunningCall {
  readonly id = crypto.randomUUID();
  readonly #controller = new AbortController();
  readonly #answer: Promise<CallAnswer | ApprovalNeeded>;
  #asked = new Later<Question>();
  #reply: ((result: ElicitResult) => void) | undefined;
  #round: Round | undefined;

  constructor(gateway: Gateway, call: Pick<GatewayCall, "name" | "input" | "isApproved">) {
    this.#answer = gateway.call({
      ...call,
      signal: this.#controller.signal,
      onProgress: (progress) => this.#round?.onProgress?.(progress),
      onQuestion: (params) => this.#ask(params),
    });
    // Each round receives the failure.
    this.#answer.catch(() => undefined);
  }

  /** Waits for the answer of the call, or for its next question. Ends the call if the request is cancelled. */
  async next(round: Round): Promise<RoundAnswer> {
    this.#round = round;
    const stop = () => this.#controller.abort(round.signal.reason);
    if (round.signal.aborted) stop();
    round.signal.addEventListener("abort", stop);
    try {
      return await Promise.race([this.#answer, this.#asked.promise]);
    } finally {
      round.signal.removeEventListener("abort", stop);
      this.#round = undefined;
    }
  }

  /** Passes the person's answer on to the server. */
  reply(result: ElicitResult): void {
    this.#asked = new Later();
    this.#reply?.(result);
  }

  /** Ends a call whose question nobody answers any more. */
  abandon(): void {
    this.reply({ action: "cancel" });
  }

  #ask(params: ElicitRequestParams): Promise<ElicitResult> {
    const answer = new Later<ElicitResult>();
    this.#reply = answer.resolve;
    this.#asked.resolve({ kind: "question", params });
    return answer.promise;
  }
}

/** A promise that is resolved later. Not `Promise.withResolvers`, which Node 20 lacks. */
class Later<Value> {
  resolve: (value: Value) => void = () => undefined;
  readonly promise = new Promise<Value>((resolve) => {
    this.resolve = resolve;
  });
}

/** The calls that wait for a person's answer to a server's question. */
export class WaitingCalls {
  readonly #calls = new Map<string, RunningCall>();

  /** Keeps the call until it is taken, at most for `gatewayQuestionMs`. */
  add(call: RunningCall): void {
    this.#calls.set(call.id, call);
    const expire = () => this.take(call.id)?.abandon();
    const timer: unknown = setTimeout(expire, limits.gatewayQuestionMs);
    // In Node a timer keeps the process alive.
    if (timer instanceof Object && "unref" in timer) (timer as NodeJS.Timeout).unref();
  }

  /** Undefined for a call that is over, or belongs to another process. */
  take(id: string): RunningCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }
}
