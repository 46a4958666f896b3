import { Client, LOG_LEVEL_META_KEY } from "@modelcontextprotocol/client";
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequest,
  InputResponse,
  Prompt,
  RequestMethod,
  Resource,
  ResourceTemplateType,
  ResultTypeMap,
  Tool,
  Transport,
} from "@modelcontextprotocol/client";
import { ByrefError, codeOf, messageOf } from "../errors.ts";
import * as limits from "./gateway-limits.ts";
import { redact } from "../tool/mcp/secrets.ts";
import { CallingClients } from "./calling-clients.ts";
import { SENT } from "./call-journal.ts";
import { callAsTask, isTask } from "./task-call.ts";
import { version } from "../version.ts";
import {
  type ClientOfCall,
  type ClientOfGateway,
  QUESTIONS,
  timingOf,
  type Waiting,
} from "./client-of-gateway.ts";
import type { ServerConfiguration } from "./configuration.ts";
import { Connecting } from "./connecting.ts";
import {
  isGivenUp,
  isLostSession,
  isUnreachable,
  mayHaveRun,
  reasonOf,
} from "./connection-loss.ts";
import { redacted, secretsOf } from "./secrets-of-address.ts";
import type { Change } from "./change.ts";

/** Opens the transport to a server; each call a new one. */
export type OpenTransport = (server: ServerConfiguration) => Transport;

export interface UpstreamOptions {
  readonly open: OpenTransport;
  /** Receives lines for a person; never a value of a result. */
  readonly log: (line: string) => void;
  readonly client: ClientOfGateway;
  /** Resources have the addresses that the server knows. */
  readonly onChange: (change: Change) => void;
}

/** A server's state, as `byref://status` shows it. */
export interface UpstreamStatus {
  readonly name: string;
  readonly state: "connected" | "starting" | "not connected" | "unavailable";
  readonly why?: string;
}

export interface ToolList {
  readonly tools: readonly Tool[];
  /**
   * Milliseconds for which the list may be used without a new request. Infinite if the server does not specify it.
   */
  readonly ttlMs: number;
}

const LIST_TIMING = { timeout: limits.gatewayConnectMs };

/** One call, as the client of the gateway made it. */
export interface UpstreamCall {
  readonly tool: Tool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly from: ClientOfCall;
}

/**
 * The connection to one server. It is opened on first use, and again, after a pause that doubles, when it
 * broke. A call that was sent is never sent again: it may have run.
 */
export class Upstream {
  readonly server: ServerConfiguration;
  readonly #options: UpstreamOptions;
  readonly #redact: (text: string) => string;
  readonly #calling: CallingClients;
  #client: Promise<Client> | undefined;
  #connecting: Connecting | undefined;
  #failures = 0;
  #retryAt = 0;
  #why: string | undefined;
  #isClosed = false;
  /** Why the connection was given up: a message that is too long. */
  #refusal: string | undefined;

  constructor(server: ServerConfiguration, options: UpstreamOptions) {
    this.server = server;
    this.#options = options;
    this.#calling = new CallingClients(server.name);
    const secrets = secretsOf(server.address);
    this.#redact = (text) => redact(text, secrets);
    this.#why = server.problem;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get status(): UpstreamStatus {
    const { name } = this.server;
    if (this.#connecting?.isTrying === true) return { name, state: "starting" };
    if (this.#why !== undefined) return { name, state: "unavailable", why: this.#why };
    return { name, state: this.#client === undefined ? "not connected" : "connected" };
  }

  /** The tools in the server's order. Rejects with `server_unavailable`. */
  async tools(): Promise<ToolList> {
    return this.#asked(async (client) => {
      if (client.getServerCapabilities()?.tools === undefined)
        return { tools: [], ttlMs: Infinity };
      const { tools, ttlMs } = await client.listTools({}, { ...LIST_TIMING, cacheMode: "refresh" });
      return { tools, ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : Infinity };
    });
  }

  /**
   * Returns the result as the server gave it; of a failure, without secrets of the configuration. Rejects with
   * `server_unavailable` or `tool_failed`.
   */
  async call({ tool, input, from }: UpstreamCall): Promise<CallToolResult> {
    const level = from.logLevel ?? this.#options.client.logLevel;
    const meta = level && { _meta: { [LOG_LEVEL_META_KEY]: level } };
    const params = { name: tool.name, arguments: input, ...meta };
    const result = await this.#calling.during(from, () =>
      isTask(tool) ? this.#runTask(params, from) : this.ask("tools/call", params, from),
    );
    return result.isError === true ? redacted(this.#redact, result) : result;
  }

  async #runTask(params: Readonly<Record<string, unknown>>, from: ClientOfCall) {
    return this.#asked((client) => callAsTask(client, params, timingOf(from, this.#redact)));
  }

  /** Sends a request that can take as long as a call. Rejects as `call` does. */
  async ask<Method extends RequestMethod>(
    method: Method,
    params: Record<string, unknown>,
    from: Waiting,
  ): Promise<ResultTypeMap[Method]> {
    return this.#asked((client) =>
      client.request({ method, params }, timingOf(from, this.#redact)),
    );
  }

  /** Sets the level of the server's log, now and when it is connected again. Never rejects. */
  async setLogLevel(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await (client && this.#setLogLevel(client));
  }

  /** Tells the server that the client's roots have changed. Never rejects. */
  async rootsChanged(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await client?.sendRootsListChanged().catch(() => undefined);
  }

  /** Resolves with an empty list if the server has none. Rejects with `server_unavailable`, like the next two. */
  async prompts(): Promise<readonly Prompt[]> {
    return this.#asked(async (client) => {
      if (client.getServerCapabilities()?.prompts === undefined) return [];
      return (await client.listPrompts({}, LIST_TIMING)).prompts;
    });
  }

  async resources(): Promise<readonly Resource[]> {
    return this.#asked(async (client) => {
      if (client.getServerCapabilities()?.resources === undefined) return [];
      return (await client.listResources({}, LIST_TIMING)).resources;
    });
  }

  async resourceTemplates(): Promise<readonly ResourceTemplateType[]> {
    return this.#asked(async (client) => {
      if (client.getServerCapabilities()?.resources === undefined) return [];
      return (await client.listResourceTemplates({}, LIST_TIMING)).resourceTemplates;
    });
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
    await this.#connecting?.giveUp();
    const client = await connected?.catch(() => undefined);
    await client?.close().catch(() => undefined);
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(this.#unavailable("The gateway is closing."));
    if (this.server.problem !== undefined) {
      return Promise.reject(this.#unavailable(this.server.problem));
    }
    if (this.#client !== undefined) return this.#client;
    if (this.#retryAt > Date.now()) return Promise.reject(this.#unavailable(this.#why ?? ""));
    const { address } = this.server;
    const open = () => this.#options.open(this.server);
    const connecting = new Connecting({ open, isProgram: !("url" in address) });
    this.#connecting = connecting;
    const connected = this.#connect(connecting).catch((error: unknown) => {
      const why = this.#redact(connecting.reasonOf(error));
      // Another attempt may have taken the place of one that was given up.
      if (this.#client === connected) this.#failed(why);
      throw this.#unavailable(why);
    });
    this.#client = connected;
    return connected;
  }

  async #connect(connecting: Connecting): Promise<Client> {
    const { capabilities } = this.#options.client;
    const onChanged = (kind: "tools" | "prompts" | "resources") => ({
      autoRefresh: false,
      onChanged: () => this.#options.onChange({ kind }),
    });
    const client = new Client(
      { name: "byref", version },
      {
        versionNegotiation: { mode: "auto", probe: { timeoutMs: limits.gatewayConnectMs } },
        capabilities,
        listChanged: {
          tools: onChanged("tools"),
          prompts: onChanged("prompts"),
          resources: onChanged("resources"),
        },
      },
    );
    this.#listen(client, capabilities);
    await connecting.connect(client);
    client.onclose = () => this.#closed(client);
    client.onerror = (error) => {
      if (isGivenUp(error)) void end(client);
      else if (codeOf(error) === "limit_exceeded") this.#refusal = messageOf(error);
    };
    this.#failures = 0;
    this.#refusal = undefined;
    this.#why = undefined;
    // A server that leaves it unanswered is connected all the same.
    void this.#setLogLevel(client);
    return client;
  }

  #listen(client: Client, { elicitation, sampling, roots }: ClientCapabilities): void {
    if (elicitation) client.setRequestHandler(QUESTIONS.elicitation, (asked) => this.#ask(asked));
    if (sampling) client.setRequestHandler(QUESTIONS.sampling, (asked) => this.#ask(asked));
    if (roots) client.setRequestHandler(QUESTIONS.roots, (asked) => this.#ask(asked));
    client.setNotificationHandler("notifications/message", ({ params }) => {
      this.#calling.log(redacted(this.#redact, params));
    });
    client.setNotificationHandler("notifications/resources/updated", ({ params: { uri } }) => {
      this.#options.onChange({ kind: "resource", uri });
    });
  }

  async #ask<Answer extends InputResponse>(question: InputRequest): Promise<Answer> {
    const { listRoots } = this.#options.client;
    const outside = question.method === QUESTIONS.roots ? listRoots : undefined;
    // Both ways return the kind of result that the question expects.
    return (await this.#calling.ask(redacted(this.#redact, question), outside)) as Answer;
  }

  async #setLogLevel(client: Client): Promise<void> {
    const level = this.#options.client.logLevel;
    if (level === undefined || client.getServerCapabilities()?.logging === undefined) return;
    // A server without sessions receives the level with each call.
    await client.setLoggingLevel(level).catch(() => undefined);
  }

  #closed(client: Client): void {
    void this.#client?.then((current) => {
      if (current === client && !this.#isClosed)
        this.#failed(this.#refusal ?? "The connection ended.");
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

  async #asked<Result>(ask: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await this.#connected();
    try {
      return await ask(client);
    } catch (error) {
      if (!isLostSession(error)) throw this.#failureOf(error, client);
    }
    // A server that was started again has not run the request.
    await this.#forget(client);
    const next = await this.#connected();
    return ask(next).catch((error: unknown) => {
      throw this.#failureOf(error, next);
    });
  }

  #failureOf(error: unknown, client: Client): ByrefError {
    // The status shows it, too.
    const isOpen = this.#calling.visibility === "model";
    const message = isOpen ? this.#redact(reasonOf(error)) : "A call with guarded values failed.";
    if (this.#refusal !== undefined && !this.#isClosed) {
      return new ByrefError("limit_exceeded", `Server ${this.server.name}: ${this.#refusal}`);
    }
    const isOver = this.#isClosed || this.#client === undefined;
    if (isOver) return this.#unavailable(this.#why ?? message, SENT);
    const sent = mayHaveRun(error) ? SENT : undefined;
    if (isUnreachable(error)) {
      this.#failed(message);
      void end(client);
      return this.#unavailable(message, sent);
    }
    return new ByrefError("tool_failed", `Server ${this.server.name}: ${message}`, sent);
  }

  /** Other requests of the same connection may still be refused: they need its end as little as this one. */
  async #forget(client: Client): Promise<void> {
    const current = this.#client;
    const isIts = (await current?.catch(() => undefined)) === client;
    if (!isIts || this.#client !== current) return;
    this.#client = undefined;
    setTimeout(() => void end(client), limits.gatewayCloseMs);
  }

  #unavailable(why: string, sent: typeof SENT | undefined = undefined): ByrefError {
    const pauseMs = this.#isClosed ? 0 : this.#retryAt - Date.now();
    const retry = pauseMs > 0 ? ` It is tried again in ${Math.ceil(pauseMs / 1_000)} s.` : "";
    const message = `Server ${this.server.name} is not available; continue without its tools. ${why}${retry}`;
    return new ByrefError("server_unavailable", message, { server: this.server.name, ...sent });
  }
}

async function end(client: Client): Promise<void> {
  await client.close().catch(() => undefined);
}
