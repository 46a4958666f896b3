import { Client } from "@modelcontextprotocol/client";
import type {
  CallToolResult,
  ElicitRequestParams,
  ElicitResult,
  Prompt,
  RequestMethod,
  Resource,
  ResourceTemplateType,
  ResultTypeMap,
  Tool,
  Transport,
} from "@modelcontextprotocol/client";
import { ByrefError, messageOf } from "../errors.ts";
import * as limits from "./gateway-limits.ts";
import { version } from "../version.ts";
import type { ServerConfiguration } from "./configuration.ts";

/** Opens the transport to a server; each call a new one. */
export type OpenTransport = (server: ServerConfiguration) => Transport;

export interface UpstreamOptions {
  readonly open: OpenTransport;
  /** Receives lines for a person; never a value of a result. */
  readonly log: (line: string) => void;
  /** True if the client can ask a person, which its servers are told when they are connected. */
  readonly canAsk: () => boolean;
  /** Called when the server's list of tools may have changed. */
  readonly onToolsChanged: () => void;
}

/** A server's state, as `byref://status` shows it. */
export interface UpstreamStatus {
  readonly name: string;
  readonly state: "connected" | "not connected" | "unavailable";
  readonly why?: string;
}

const LIST_TIMING = { timeout: limits.gatewayConnectMs };

/** One call, as the client of the gateway made it. */
export interface UpstreamCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Asks a person for the server. Default: the question is cancelled. */
  readonly onQuestion?: AskPerson | undefined;
}

/** Returns a person's answer to a question of a server. */
export type AskPerson = (question: ElicitRequestParams) => Promise<ElicitResult>;

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/**
 * The connection to one server. It is opened on first use, and again, after a pause that doubles, when it
 * broke. A call that was sent is never sent again: it may have run.
 */
export class Upstream {
  readonly server: ServerConfiguration;
  readonly #options: UpstreamOptions;
  #client: Promise<Client> | undefined;
  #failures = 0;
  #retryAt = 0;
  #why: string | undefined;
  #isClosed = false;
  /** How the running calls ask a person, the newest last. */
  #asking: readonly AskPerson[] = [];

  constructor(server: ServerConfiguration, options: UpstreamOptions) {
    this.server = server;
    this.#options = options;
    this.#why = server.problem;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get status(): UpstreamStatus {
    const { name } = this.server;
    if (this.#why !== undefined) return { name, state: "unavailable", why: this.#why };
    return { name, state: this.#client === undefined ? "not connected" : "connected" };
  }

  /** The tools in the server's order. Rejects with `server_unavailable`. */
  async tools(): Promise<readonly Tool[]> {
    const client = await this.#connected();
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const listing = client.listTools({}, { ...LIST_TIMING, cacheMode: "refresh" });
    return (await this.#asked(listing)).tools;
  }

  /** Returns the result as the server gave it. Rejects with `server_unavailable` or `tool_failed`. */
  async call({ tool, input, onQuestion, ...timing }: UpstreamCall): Promise<CallToolResult> {
    if (onQuestion !== undefined) this.#asking = [...this.#asking, onQuestion];
    try {
      return await this.ask("tools/call", { name: tool, arguments: input }, timing);
    } finally {
      this.#asking = this.#asking.filter((ask) => ask !== onQuestion);
    }
  }

  /** Sends a request that can take as long as a call. Rejects as `call` does. */
  async ask<Method extends RequestMethod>(
    method: Method,
    params: Record<string, unknown>,
    { signal, onProgress }: Pick<UpstreamCall, "signal" | "onProgress">,
  ): Promise<ResultTypeMap[Method]> {
    const client = await this.#connected();
    const timing = { timeout: limits.gatewayCallMs, resetTimeoutOnProgress: true };
    const onprogress = onProgress && { onprogress: onProgress };
    return this.#asked(client.request({ method, params }, { signal, ...timing, ...onprogress }));
  }

  /** None if the server has none. Rejects with `server_unavailable`, as the next two do. */
  async prompts(): Promise<readonly Prompt[]> {
    const client = await this.#connected();
    if (client.getServerCapabilities()?.prompts === undefined) return [];
    return (await this.#asked(client.listPrompts({}, LIST_TIMING))).prompts;
  }

  async resources(): Promise<readonly Resource[]> {
    const client = await this.#connected();
    if (client.getServerCapabilities()?.resources === undefined) return [];
    return (await this.#asked(client.listResources({}, LIST_TIMING))).resources;
  }

  async resourceTemplates(): Promise<readonly ResourceTemplateType[]> {
    const client = await this.#connected();
    if (client.getServerCapabilities()?.resources === undefined) return [];
    const listing = client.listResourceTemplates({}, LIST_TIMING);
    return (await this.#asked(listing)).resourceTemplates;
  }

  /** Ends the connection for good, and the program if it was started. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.disconnect();
  }

  /** Ends the connection; the next request opens another. Never rejects. */
  async disconnect(): Promise<void> {
    const connected = this.#client;
    this.#client = undefined;
    const client = await connected?.catch(() => undefined);
    await client?.close().catch(() => undefined);
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(this.#unavailable("The gateway is closing."));
    if (this.server.problem !== undefined) {
      return Promise.reject(this.#unavailable(this.server.problem));
    }
    if (this.#client !== undefined) return this.#client;
    const pause = this.#retryAt - Date.now();
    if (pause > 0) {
      const why = `${this.#why ?? ""} It is tried again in ${Math.ceil(pause / 1_000)} s.`;
      return Promise.reject(this.#unavailable(why.trim()));
    }
    const connecting = this.#connect().catch((error: unknown) => {
      this.#failed(messageOf(error));
      throw this.#unavailable(messageOf(error));
    });
    this.#client = connecting;
    return connecting;
  }

  async #connect(): Promise<Client> {
    const transport = this.#options.open(this.server);
    const canAsk = this.#options.canAsk();
    const client = new Client(
      { name: "byref", version },
      {
        versionNegotiation: { mode: "auto" },
        capabilities: canAsk ? { elicitation: { form: {}, url: {} } } : {},
        listChanged: { tools: { autoRefresh: false, onChanged: this.#options.onToolsChanged } },
      },
    );
    if (canAsk) {
      // A question does not name its call: it is the newest one's.
      client.setRequestHandler("elicitation/create", ({ params }) => {
        const ask = this.#asking.at(-1);
        return ask === undefined ? { action: "cancel" } : ask(params);
      });
    }
    await client.connect(transport, { timeout: limits.gatewayConnectMs });
    client.onclose = () => this.#closed(client);
    this.#failures = 0;
    this.#why = undefined;
    return client;
  }

  #closed(client: Client): void {
    void this.#client?.then((current) => {
      if (current === client && !this.#isClosed) this.#failed("The connection ended.");
    });
  }

  #failed(why: string): void {
    this.#client = undefined;
    this.#retryAt = Date.now() + Math.min(1_000 * 2 ** this.#failures, limits.gatewayRetryMs);
    this.#failures++;
    if (this.#why === undefined && !this.#isClosed)
      this.#options.log(`Server ${this.server.name}: ${why}`);
    this.#why = why;
  }

  async #asked<Result>(answer: Promise<Result>): Promise<Result> {
    try {
      return await answer;
    } catch (error) {
      const isOver = this.#isClosed || this.#client === undefined;
      if (isOver) throw this.#unavailable(this.#why ?? messageOf(error), SENT);
      throw new ByrefError("tool_failed", `Server ${this.server.name}: ${messageOf(error)}`);
    }
  }

  #unavailable(why: string, sent: typeof SENT | undefined = undefined): ByrefError {
    const message = `Server ${this.server.name} is not available. ${why}`;
    return new ByrefError("server_unavailable", message, { server: this.server.name, ...sent });
  }
}

/** The server may have acted on the request before it ended. */
const SENT = { sent: true };

/** True for the error of a request that was sent to a server, which then ended. */
export function wasSent(error: unknown): boolean {
  return error instanceof ByrefError && error.details.sent === true;
}
