import type { UIMessage } from "ai";
import type { RunView } from "../../../plans/src/http/plan-view.ts";
import type { Interpolation, Json } from "../../../../src/references.ts";
import type { timelines, receipts, eventLogs } from "../../../../src/internal-tool.ts";
import type { ConversationInfo, PatchOperation, json } from "../../../../src/internal.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { type ClientOptions, type Connection, pathTo } from "./connection.ts";
import { filesOf, variablesOf } from "./variables.ts";
import { follow } from "./follow.ts";
import { plansOf, type RunData } from "./plans.ts";
import { type Streamed, streamed, type Told, type TurnAnswer, type TurnData } from "./streamed.ts";

export type AnswerReceipt = receipts.AnswerReceipt;
export type ReceiptSpan = receipts.ReceiptSpan;
export type TypedFigure = receipts.TypedFigure;
export type Timeline = timelines.Timeline;
export type TimedActivity = timelines.TimedActivity;
export type TimedAttempt = timelines.TimedAttempt;

/** Text, or a message of the AI SDK. The same id and parts sent twice are one turn. */
export type Question = string | (Pick<UIMessage, "parts" | "metadata"> & { readonly id?: string });

export interface Reading {
  /** Stops reading; the turn or run continues. */
  readonly signal?: AbortSignal;
}

/** Selects the events to read. Has a callback for turns that begin in the meantime. */
export interface EventReading extends Reading {
  /** The id of the last event that the caller has received. */
  readonly after?: number;
  /**
   * Called with a turn's id when the turn begins, and on connecting if one is running. Its events follow
   * when it ends. `resume` joins its stream.
   */
  readonly onTurn?: (turn: string) => void;
  /** Called when the stream is open, also after each reconnect. */
  readonly onOpen?: () => void;
  /** Replaces the client's option. */
  readonly retryMs?: NonNullable<ClientOptions["retryMs"]>;
}

export interface SendOptions extends Reading {
  /** The agent that answers. Default: the server's first. */
  readonly agent?: string;
  /** Saved as the variable `input`. */
  readonly input?: Readonly<Record<string, Json>>;
  /** Valid for a day, for failed turns too. */
  readonly idempotencyKey?: string;
}

/** A person's decision about a waiting call or gate. */
export interface Decision {
  readonly approved: boolean;
  /** Shown to the model, or to the run; up to 1,000 characters. */
  readonly reason?: string;
  /** Runs in place of the input that waits. It may have references, and is checked like a model's. Not for gates. */
  readonly input?: json.JsonObject;
  /** A JSON Patch (RFC 6902) of `input`, by default of the input that waits. */
  readonly patch?: readonly PatchOperation[];
}

/** Selects messages of a conversation. Pages are ordered from newest to oldest. */
export interface MessageQuery {
  /** 1 to 200. */
  readonly limit?: number;
  /** The `next` of an earlier page. */
  readonly before?: string;
  /** `display` (the default): as the person saw them; `reference`: as the model wrote them. */
  readonly form?: "display" | "reference";
}

/** A page of messages, oldest first. */
export interface MessagePage {
  readonly messages: readonly UIMessage[];
  /** Set if there are older messages. */
  readonly next?: string;
}

/** A conversation's metadata and current state. `waiting`: it waits for a person. */
export interface AboutConversation extends ConversationInfo {
  readonly id: string;
  readonly status: "idle" | "running" | "waiting";
}

/** One conversation. Responses have the types of the server's interface. */
export type ClientConversation = ReturnType<typeof conversationOf>;

/** `client`: the one that made it. */
export function conversationOf(connection: Connection, client: object, id: string) {
  const { ask, call, options } = connection;
  return {
    client,
    id,
    variables: variablesOf(connection),
    files: filesOf(connection),
    plans: plansOf(connection),
    approvals: {
      /** Decides about a waiting tool call or a plan's gate. The turn or run continues and is streamed. */
      decide(
        approval: string,
        json: Decision,
        { signal }: Reading = {},
      ): Streamed<RunData, TurnAnswer | RunView> {
        const at = pathTo("approvals", approval);
        return streamed(connection, { method: "POST", at, json, signal });
      },
    },
    /** Sends a message. Reconnects after a broken connection, without losing a part or sending the message twice. */
    send(question: Question, sending: SendOptions = {}): Streamed<TurnData, TurnAnswer> {
      const { agent, input, idempotencyKey, signal } = sending;
      const written: Exclude<Question, string> =
        typeof question === "string" ? { parts: [{ type: "text", text: question }] } : question;
      const { id: messageId = newId(), parts, metadata } = written;
      return streamed(connection, {
        method: "POST",
        at: "/messages",
        json: { message: { id: messageId, role: "user", parts, metadata }, agent, input },
        headers: { "idempotency-key": idempotencyKey },
        mayRepeat: true,
        signal,
      });
    },
    /** Streams the running turn or run from its first part. Empty if none is running. */
    resume: ({ signal }: Reading = {}): Told<RunData> =>
      streamed(connection, { method: "GET", at: "/stream", mayRepeat: true, signal }),
    /** Stops the running turn; `stopped` is false if none was running. */
    stop: (): Promise<{ readonly stopped: boolean }> => ask("POST", "/stop"),
    messages: (query: MessageQuery = {}): Promise<MessagePage> =>
      ask("GET", "/messages", { query: { ...query } }),
    /** Returns the sources of an answer's values, and the figures that the model typed. */
    receipt: (messageId: string): Promise<AnswerReceipt> =>
      ask("GET", pathTo("messages", messageId, "receipt")),
    /** The model calls and tool calls of an answer, with their times. */
    timeline: (messageId: string): Promise<Timeline> =>
      ask("GET", pathTo("messages", messageId, "timeline")),
    /** `syntax` defaults to mustache. */
    interpolate: (
      text: string,
      syntax?: "dollar" | "mustache" | "dagger",
    ): Promise<Interpolation> => ask("POST", "/interpolate", { json: { text, syntax } }),
    query,
    events,
    about: (): Promise<AboutConversation> => ask("GET", ""),
    /** Deletes the conversation and all its data. */
    delete: async (): Promise<void> => void (await call("DELETE", "")),
  };

  /** Runs one SQL SELECT over variables, which are its tables. With `saveAs`, the records become a variable. */
  function query(sql: string): Promise<readonly json.JsonObject[]>;
  function query(sql: string, saving: { readonly saveAs: string }): Promise<VariableInfo>;
  function query(sql: string, saving?: object): Promise<unknown> {
    return ask("POST", "/query", { json: { sql, ...saving } });
  }

  /** Yields the events after the event `after`, then new events until the reader stops. */
  async function* events({ after, onTurn, onOpen, ...own }: EventReading = {}): AsyncGenerator<
    eventLogs.ConversationEvent,
    void
  > {
    const { signal } = own;
    const open = async (last: string | undefined) => {
      const headers = { accept: "text/event-stream", "last-event-id": last ?? after };
      const response = await call("GET", "/events", { headers, signal });
      onOpen?.();
      return response;
    };
    const reading = { options: { ...options, ...own }, open, mayRepeat: true, signal };
    for await (const { id: eventId, data } of follow(reading)) {
      // The server sends what the type declares.
      const event = JSON.parse(data) as eventLogs.ConversationEvent & { readonly turn: string };
      if (eventId) yield event;
      else onTurn?.(event.turn);
    }
  }
}

/** Replaces `crypto.randomUUID`, which is missing on pages without TLS. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join();
}
