import type { UIMessage } from "ai";
import type { ConversationInfo } from "../edge/conversation-data.ts";
import type { RunView } from "../edge/plans/plan-view.ts";
import type { Interpolation } from "../reference/resolve.ts";
import type { ConversationEvent } from "../turn/log/event-log.ts";
import type { MessageForm } from "../turn/history/history.ts";
import type { Json } from "../value/json.ts";
import type { Connection } from "./connection.ts";
import { follow } from "./follow.ts";
import { ClientPlans, type RunData } from "./plans.ts";
import { type Streamed, streamed, type Told, type TurnAnswer, type TurnData } from "./streamed.ts";
import { ClientVariables } from "./variables.ts";

/** Text, or a message of the AI SDK's: the same id and parts twice are one turn. */
export type Question = string | (Pick<UIMessage, "parts"> & { readonly id?: string });

/** How a stream is read. */
export interface Reading {
  /** Ends the reading, not what is read of. */
  readonly signal?: AbortSignal;
}

/** Which events to read, and a callback for turns that begin meanwhile. */
export interface EventReading extends Reading {
  /** The id of the last event that the caller has. */
  readonly after?: number;
  /**
   * Called with a turn's id when the turn begins, and on connecting if one runs. Its events follow when it
   * ends. `resume` joins its stream.
   */
  readonly onTurn?: (turn: string) => void;
}

/** What goes with a message. */
export interface SendOptions extends Reading {
  /** Who is to answer. Default: the server's first. */
  readonly agent?: string;
  /** Kept as the variable `input`. */
  readonly input?: Readonly<Record<string, Json>>;
  /** Holds for a day, and for a turn that failed too. */
  readonly idempotencyKey?: string;
}

/** What a person has decided of a call, or a gate, that waits. */
export interface Decision {
  readonly approved: boolean;
  /** For the model, or the run; up to 1,000 characters. */
  readonly reason?: string;
}

/** Which messages of a conversation, newest first asked for. */
export interface MessageQuery {
  /** 1 to 200. */
  readonly limit?: number;
  /** As an earlier page gave it in `next`. */
  readonly before?: string;
  /** As the person saw them (`display`, the default), or as the model wrote them (`reference`). */
  readonly form?: MessageForm;
}

/** Some messages, oldest first. */
export interface MessagePage {
  readonly messages: readonly UIMessage[];
  /** There are older ones. */
  readonly next?: string;
}

/** What a conversation is, and what it does now; `waiting`: for a person. */
export interface AboutConversation extends ConversationInfo {
  readonly id: string;
  readonly status: "idle" | "running" | "waiting";
}

/** One conversation. What comes back is as the server's interface has it. */
export class ClientConversation {
  readonly variables: ClientVariables;
  readonly plans: ClientPlans;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.variables = new ClientVariables(connection);
    this.plans = new ClientPlans(connection);
  }

  readonly approvals = {
    /** Of a tool call that waits, or a plan's gate: what has waited goes on, and is told. */
    decide: (
      approval: string,
      json: Decision,
      { signal }: Reading = {},
    ): Streamed<RunData, TurnAnswer | RunView> => {
      const at = `/approvals/${encodeURIComponent(approval)}`;
      return streamed(this.#connection, { method: "POST", at, json, mayRepeat: false, signal });
    },
  };

  /** A connection that breaks is made again: nothing is missed, and nothing asked twice. */
  send(question: Question, options: SendOptions = {}): Streamed<TurnData, TurnAnswer> {
    const { agent, input, idempotencyKey, signal } = options;
    const { id = newId(), parts } =
      typeof question === "string" ? { parts: [{ type: "text", text: question }] } : question;
    return streamed(this.#connection, {
      method: "POST",
      at: "/messages",
      json: { message: { id, role: "user", parts }, agent, input },
      headers: { "idempotency-key": idempotencyKey },
      mayRepeat: true,
      signal,
    });
  }

  /** The turn or run that goes on, from its first part; nothing if none does. */
  resume({ signal }: Reading = {}): Told<RunData> {
    return streamed(this.#connection, { method: "GET", at: "/stream", mayRepeat: true, signal });
  }

  /** Of the turn that runs; `stopped` is false if none did. */
  stop(): Promise<{ readonly stopped: boolean }> {
    return this.#connection.ask("POST", "/stop");
  }

  messages(query: MessageQuery = {}): Promise<MessagePage> {
    return this.#connection.ask("GET", "/messages", { query: { ...query } });
  }

  /** `syntax` is mustache unless it is said. */
  interpolate(text: string, syntax?: "dollar" | "mustache" | "dagger"): Promise<Interpolation> {
    return this.#connection.ask("POST", "/interpolate", { json: { text, syntax } });
  }

  /** Those behind the event `after`, then those to come, for as long as somebody reads. */
  async *events({ after, onTurn, signal }: EventReading = {}): AsyncGenerator<
    ConversationEvent,
    void
  > {
    const { call, options } = this.#connection;
    const open = (last: string | undefined) => {
      const headers = { accept: "text/event-stream", "last-event-id": last ?? after };
      return call("GET", "/events", { headers, signal });
    };
    for await (const { id, data } of follow({ options, open, mayRepeat: true, signal })) {
      // The server says what the type says.
      const event = JSON.parse(data) as ConversationEvent & { readonly turn: string };
      if (id) yield event;
      else onTurn?.(event.turn);
    }
  }

  about(): Promise<AboutConversation> {
    return this.#connection.ask("GET", "");
  }

  /** All of it, everywhere. */
  async delete(): Promise<void> {
    await this.#connection.call("DELETE", "");
  }
}

/** `crypto.randomUUID` is missing on pages without TLS. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
