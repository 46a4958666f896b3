import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
} from "../../packages/client/src/client.ts";

/** A conversation and its connection to the server, shared by all views. */
export interface Session {
  readonly client: Client;
  /** The client's options, for other clients of the same server. */
  readonly options: ClientOptions;
  /** Id of the conversation. */
  readonly conversation: string;
  /** Sends a request to the server, with the key. Throws a `ClientError` unless it succeeds. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Returns a URL that needs no headers, for images and downloads. Valid for a minute. */
  readonly link: (path: string) => Promise<string>;
}

/** The connection to the server, without a conversation. */
export type Entry = Omit<Session, "conversation">;

const KEY = "byref-key";

export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

/** Stores the key until the tab is closed. */
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
  const asked = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
    const response = await send(path, { ...init, headers });
    if (response.ok || response.status === 304) return response;
    throw await errorFrom(response);
  };
  const options = { fetch: send, ...(key === undefined ? {} : { auth: key }) };
  return {
    client: createClient("", options),
    options,
    fetch: asked,
    link: async (path) => {
      if (key === undefined) return path;
      const [pathname = ""] = path.split("?");
      const id = /^\/conversations\/([^/]+)/.exec(pathname)?.[1] ?? "";
      const response = await asked(`/conversations/${id}/tickets`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ path: pathname }),
      });
      // The server's documented response.
      const { ticket } = (await response.json()) as { ticket: string };
      return `${path}${path.includes("?") ? "&" : "?"}ticket=${encodeURIComponent(ticket)}`;
    },
  };
}

/** Creates an error from a problem document, or from any other response. */
async function errorFrom(response: Response): Promise<ClientError> {
  const text = await response.text().catch(String);
  const details = parsed(text);
  const { code = "bad_answer", title = `Status ${response.status}` } = details;
  const { detail = title } = details;
  // A newer server may use codes that the types do not list.
  return new ClientError(code as ClientError["code"], String(detail), {
    status: response.status,
    details,
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(text) as Readonly<Record<string, unknown>>) };
  } catch {
    return {};
  }
}
