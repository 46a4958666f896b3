import type { CallToolResult, InputRequest, InputResponse } from "@modelcontextprotocol/server";
import type { policies } from "../../../src/internal-tool.ts";
import type { Json } from "../../../src/references.ts";
import { type AskClient, type ClientOfCall, QUESTIONS } from "./client-of-gateway.ts";
import * as limits from "./gateway-limits.ts";

export interface GatewayCall extends ClientOfCall {
  readonly name: string;
  readonly input: Json;
  /** The question that a person has answered with yes, and the form's fields as they came back. */
  readonly approved?: Approved | undefined;
}

export interface Approved {
  readonly question: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Parameters that a person may change, with the values that are shown. */
export type Fields = Readonly<Record<string, string | number | boolean>>;

/** A call that a person has to approve first. Nothing has run. */
export interface ApprovalNeeded {
  readonly kind: "approval";
  readonly approval: policies.ApprovalRequest;
  readonly fields: Fields;
  /** The id of the question, which the client returns. */
  readonly question: string;
}

export interface CallAnswer {
  readonly kind: "result";
  readonly result: CallToolResult;
}

/** A question of a server to its client, in the middle of a call. */
interface Question {
  readonly kind: "question";
  readonly request: InputRequest;
}

type RoundAnswer = CallAnswer | ApprovalNeeded | Question;

/** The request of a client that currently waits for the call. */
export interface Round extends Omit<ClientOfCall, "onQuestion"> {
  readonly answers: (question: InputRequest) => boolean;
  /** Sends a question while the request goes on. Default: the request ends with the question. */
  readonly ask?: AskClient;
}

/**
 * A call that may outlive one request of its client: if a server sends a question, the request ends with the
 * question, and the next request contains the answer.
 */
export class RunningCall {
  readonly id = crypto.randomUUID();
  readonly #controller = new AbortController();
  readonly #answer: Promise<CallAnswer | ApprovalNeeded>;
  #asked = Promise.withResolvers<Question>();
  #asking: Promise<unknown> = Promise.resolve();
  #question:
    | { readonly request: InputRequest; readonly answer: PromiseWithResolvers<InputResponse> }
    | undefined;
  #round: Round | undefined;

  /** `run`: that of the gateway. */
  constructor(
    run: (call: GatewayCall) => Promise<CallAnswer | ApprovalNeeded>,
    call: Pick<GatewayCall, "name" | "input" | "approved" | "logLevel" | "meta">,
  ) {
    this.#answer = run({
      ...call,
      signal: this.#controller.signal,
      onProgress: (progress) => this.#round?.onProgress?.(progress),
      onLog: (message) => this.#round?.onLog?.(message),
      onQuestion: (request) => this.#ask(request),
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

  /** Passes the client's answer on to the server; undefined if it is none of the question's kind. */
  reply(answerTo: (question: InputRequest) => InputResponse | undefined): void {
    this.#asked = Promise.withResolvers();
    const { request, answer } = this.#question ?? {};
    if (request !== undefined) answer?.resolve(answerTo(request) ?? noAnswer(request));
  }

  /** A server may send several questions at once; the client receives them one after the other. */
  #ask(request: InputRequest): Promise<InputResponse> {
    const answer = this.#asking.then(() => this.#askNext(request));
    this.#asking = answer.catch(() => undefined);
    return answer;
  }

  #askNext(request: InputRequest): Promise<InputResponse> {
    if (this.#round?.answers(request) === false) return noAnswer(request);
    if (this.#round?.ask !== undefined) return this.#round.ask(request);
    const answer = Promise.withResolvers<InputResponse>();
    this.#question = { request, answer };
    this.#asked.resolve({ kind: "question", request });
    return answer.promise;
  }
}

/** A person can leave a question open; for a model's answer, or roots, there is only an error. */
async function noAnswer({ method }: InputRequest): Promise<InputResponse> {
  if (method === QUESTIONS.elicitation) return { action: "cancel" };
  throw new Error(`The client did not answer ${method}.`);
}

/** Calls to which clients return: those that wait for an answer to a server's question. */
export class WaitingCalls {
  readonly #calls = new Map<string, RunningCall>();

  /** Keeps the call until it is taken, at most for `gatewayQuestionMs`. */
  add(call: RunningCall): void {
    this.#calls.set(call.id, call);
    const expire = () => this.take(call.id)?.reply(() => undefined);
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
