import { type Connection, connect } from "../../packages/client/src/client/connection.ts";
import {
  type Client,
  type ClientConversation,
  type ClientOptions,
  createClient,
} from "../../packages/client/src/client.ts";

/** The connection to the server. */
export interface Entry {
  readonly client: Client;
  /** The client's options, for other clients of the same server. */
  readonly options: ClientOptions;
  /** Sends a request that the client has no method for. Throws a `ClientError` unless it succeeds. */
  readonly ask: Connection["ask"];
  /** Like `ask`, for any body. */
  readonly call: Connection["call"];
  /** Returns a URL below a conversation that needs no headers, for images and downloads. Valid for a minute. */
  readonly link: (conversation: string, at: string) => Promise<string>;
}

/** A conversation and its connection to the server, shared by all views. */
export interface Session extends Entry {
  readonly conversation: ClientConversation;
}

const KEY = "byref-key";

export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function storeKey(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
}

/** Calls `onRefused` after each response with status 401: the key is missing or not valid. */
export function enter(key: string | undefined, onRefused: () => void): Entry {
  const send = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    if (response.status === 401) onRefused();
    return response;
  };
  const options = { fetch: send, ...(key === undefined ? {} : { auth: key }) };
  const { ask, call } = connect("", options);
  return {
    client: createClient("", options),
    options,
    ask,
    call,
    link: async (conversation, at) => {
      const root = `/conversations/${encodeURIComponent(conversation)}`;
      const path = root + at;
      if (key === undefined) return path;
      const { ticket } = await ask<{ ticket: string }>("POST", `${root}/tickets`, {
        json: { path },
      });
      return `${path}?ticket=${encodeURIComponent(ticket)}`;
    },
  };
}

/** Returns the beginning of a body, because a value can have megabytes. `onText` receives what has arrived so far. */
export async function beginningOf(
  { body }: Response,
  mostChars: number,
  onText?: (text: string) => void,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  let text = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  while (text.length <= mostChars) {
    const { done, value = "" } = (await reader?.read()) ?? { done: true };
    if (done) return { text, isWhole: true };
    text += value;
    onText?.(text);
  }
  await reader?.cancel();
  return { text: text.slice(0, mostChars), isWhole: false };
}
