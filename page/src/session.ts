import { type Client, ClientError, type ClientOptions, createClient } from "../../src/client.ts";

/** What the parts of the page share: a conversation, and the ways to the server. */
export interface Session {
  readonly client: Client;
  /** The client's options, for other ways to the same server. */
  readonly options: ClientOptions;
  /** Its id. */
  readonly conversation: string;
  /** Asks below the server's origin, with the key. Throws a `ClientError` for what is no success. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** An address that works without headers for a minute: for images and downloads. */
  readonly link: (path: string) => Promise<string>;
}

/** The way to the server, before a conversation is chosen. */
export type Entry = Omit<Session, "conversation">;

const KEY = "byref-key";

export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

/** Kept until the tab is closed. */
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
      // The server answers so.
      const { ticket } = (await response.json()) as { ticket: string };
      return `${path}${path.includes("?") ? "&" : "?"}ticket=${encodeURIComponent(ticket)}`;
    },
  };
}

/** Of a problem document, or of whatever the answer is. */
async function errorFrom(response: Response): Promise<ClientError> {
  const text = await response.text().catch(String);
  const details = parsed(text);
  const { code = "bad_answer", title = `Status ${response.status}` } = details;
  const { detail = title } = details;
  // Whatever a newer server says is handed on.
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
