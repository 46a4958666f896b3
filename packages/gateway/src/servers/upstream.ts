import { delay } from "@ai-sdk/provider-utils";
import {
  type CallToolResult,
  Client,
  type ClientCapabilities,
  type InputRequest,
  type InputResponse,
  LOG_LEVEL_META_KEY,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type RequestMethod,
  type Resource,
  type ResourceTemplateType,
  type ResultTypeMap,
  type Tool,
  type Transport,
  specTypeSchemas,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { ByrefError, codeOf, messageOf } from "../../../../src/errors.ts";
import * as limits from "../gateway-limits.ts";
import { restoreDigits } from "./mcp-fetch.ts";
import { redact, redactTexts, secretsOf } from "./secrets.ts";
import {
  CallingClients,
  type ClientOfCall,
  type ClientOfGateway,
  QUESTIONS,
  type Waiting,
  timingOf,
} from "../client-of-gateway.ts";
import { SENT } from "../gateway-state.ts";
import { characters, withTimeLimit } from "../../../../src/internal.ts";
import { version } from "../../../../src/version.ts";
import type { ServerConfiguration } from "../configuration.ts";
import { connectTo, type Greeting, greetingOf, type LeftOut, listSieve } from "./connecting.ts";
import {
  givenError,
  isCutOff,
  isGivenUp,
  isLostSession,
  isUnreachable,
  keepReceivedErrors,
  mayHaveRun,
  reasonOf,
} from "./server-errors.ts";

/** `"sse"`: by the transport of 2024-11-05, whatever the configuration says. */
export type OpenTransport = (server: ServerConfiguration, kind?: "sse") => Transport;

export interface UpstreamOptions {
  readonly open: OpenTransport;
  readonly log: (line: string) => void;
  readonly client: ClientOfGateway;
  /** Resources have the addresses that the server knows. Default: the server is not asked to tell. */
  readonly onChange?: ((change: Change) => void) | undefined;
  /** What the server said to an earlier connection. */
  readonly greeting?: Greeting | undefined;
}

export interface UpstreamStatus {
  readonly name: string;
  /** Of a server that is "incomplete", a list could not be read; the others, and calls, can be used. */
  readonly state: "connected" | "incomplete" | "starting" | "not connected" | "unavailable";
  readonly why?: string;
  readonly leftOut?: readonly LeftOut[];
}

export interface ToolList {
  readonly tools: readonly Tool[];
  /** Milliseconds for which the list may be used without a new request. Infinite if the server does not specify it. */
  readonly ttlMs: number;
}

/** Pause before a request is repeated: the first one after a failure. */
const MAX_PAUSE_MS = 1_000;

const LIST_TIMING = { timeout: limits.gatewayConnectMs };

export interface UpstreamCall {
  readonly tool: Tool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly from: ClientOfCall;
}

/**
 * The connection to one server. It is opened on first use, and again when it broke; if that fails, after a pause
 * that doubles. A call that was sent is never sent again: it may have run.
 */
export class Upstream {
  readonly server: ServerConfiguration;
  readonly #options: UpstreamOptions;
  readonly #redact: (text: string) => string;
  readonly #calling: CallingClients;
  #client: Promise<Client> | undefined;
  /** The client of the connection that requests use now. */
  #current: Client | undefined;
  /** For the first connection. */
  #greeting: Greeting | undefined;
  /** Ends the attempts to connect, while there are any. */
  #giveUp: (() => Promise<void>) | undefined;
  #failures = 0;
  #retryAt = 0;
  #why: string | undefined;
  /** Lines about lists, which are logged once. */
  readonly #logged = new Set<string>();
  readonly #sieve = listSieve(({ kind, name, why }) =>
    this.logOnce(`its ${kind} ${name} is left out. ${why}`),
  );
  /** Why lists could not be read, by what they list. */
  readonly #failedLists = new Map<string, string>();
  #isClosed = false;
  #instructions: string | undefined;
  /** Why the connection was given up: a message that is too long. */
  #refusal: string | undefined;

  constructor(server: ServerConfiguration, options: UpstreamOptions) {
    this.server = server;
    this.#options = options;
    this.#calling = new CallingClients(server.name);
    const secrets = secretsOf(server);
    this.#redact = (text) => redact(text, secrets);
    this.#why = server.problem;
    this.#greeting = options.greeting;
  }

  /** What the server has said, for another connection. Undefined without a connection. */
  get greeting(): Greeting | undefined {
    return this.#current && greetingOf(this.#current);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get status(): UpstreamStatus {
    const { name } = this.server;
    if (this.#giveUp !== undefined) return { name, state: "starting" };
    if (this.#why !== undefined) return { name, state: "unavailable", why: this.#why };
    if (this.#client === undefined) return { name, state: "not connected" };
    const leftOut = this.#sieve.leftOut();
    const about = leftOut.length === 0 ? { name } : { name, leftOut };
    if (this.#failedLists.size === 0) return { ...about, state: "connected" };
    return { ...about, state: "incomplete", why: [...this.#failedLists.values()].join(" ") };
  }

  /** The server's instructions, which may be empty. Undefined until it has been connected. */
  get instructions(): string | undefined {
    return this.#instructions;
  }

  /** Rejects with `server_unavailable`. */
  async connect(): Promise<void> {
    await this.#connected();
  }

  /** The tools in the server's order. Rejects with `server_unavailable`. */
  async tools(): Promise<ToolList> {
    let ttl = Infinity;
    const ask = async (client: Client) => {
      const { tools, ttlMs } = await client.listTools({}, { ...LIST_TIMING, cacheMode: "refresh" });
      if (typeof ttlMs === "number" && ttlMs >= 0) ttl = ttlMs;
      return tools;
    };
    return { tools: await this.#list("tools", ask, ({ name }) => name), ttlMs: ttl };
  }

  /**
   * Returns the result as the server gave it; of a failure, without secrets of the configuration. Rejects with
   * `server_unavailable` or `tool_failed`, or with the error of the protocol that the server gave.
   */
  async call({ tool, input, from }: UpstreamCall): Promise<CallToolResult> {
    const level = from.logLevel ?? this.#options.client.logLevel;
    const meta = level === undefined ? from.meta : { ...from.meta, [LOG_LEVEL_META_KEY]: level };
    const params = { name: tool.name, arguments: input, ...(meta && { _meta: meta }) };
    const timing = timingOf(from, this.#redact);
    // With its schema the client sends the headers that the server wants; nothing checks the output.
    const { outputSchema: _outputSchema, ...toolDefinition } = tool;
    const answered = await this.#calling.during(from, () =>
      this.#answered(
        (client) =>
          // A tool that its server runs only as a task, a feature of 2025-11-25.
          tool.execution?.taskSupport === "required"
            ? callAsTask(client, params, timing)
            : client.callTool(params, { ...timing, toolDefinition }),
        { isRepeatable: tool.annotations?.readOnlyHint === true },
      ),
    );
    const result = restoreDigits(answered);
    return result.isError === true ? redactTexts(this.#redact, result) : result;
  }

  /** Sends a request that can take as long as a call, with the client's `_meta`. Rejects as `call` does. */
  async ask<Method extends RequestMethod>(
    method: Method,
    params: Record<string, unknown>,
    from: Waiting,
  ): Promise<ResultTypeMap[Method]> {
    const { meta } = from;
    const asked = { method, params: { ...params, ...(meta && { _meta: meta }) } };
    const send = (client: Client) => client.request(asked, timingOf(from, this.#redact));
    return this.#answered(send, { isRepeatable: true });
  }

  /** Sets the level of the server's log, now and when it is connected again. Never rejects. */
  async setLogLevel(): Promise<void> {
    if (this.#current !== undefined) await this.#setLogLevel(this.#current);
  }

  /** Tells the server that the client's roots have changed. Never rejects. */
  async rootsChanged(): Promise<void> {
    await this.#current?.sendRootsListChanged().catch(() => undefined);
  }

  /** Resolves with an empty list if the server has none. Rejects with `server_unavailable`, like the next two. */
  async prompts(): Promise<readonly Prompt[]> {
    const ask = async (client: Client) => (await client.listPrompts({}, LIST_TIMING)).prompts;
    return this.#list("prompts", ask, ({ name }) => name);
  }

  async resources(): Promise<readonly Resource[]> {
    const ask = async (client: Client) => (await client.listResources({}, LIST_TIMING)).resources;
    return this.#list("resources", ask, ({ uri }) => uri);
  }

  async resourceTemplates(): Promise<readonly ResourceTemplateType[]> {
    const ask = async (client: Client) => {
      try {
        return (await client.listResourceTemplates({}, LIST_TIMING)).resourceTemplates;
      } catch (error) {
        // The capability for resources does not promise templates.
        const code = error instanceof ProtocolError ? error.code : undefined;
        if (code !== ProtocolErrorCode.MethodNotFound) throw error;
        return [];
      }
    };
    return this.#list("resource templates", ask, ({ uriTemplate }) => uriTemplate);
  }

  /** Logs a line about the server, once. */
  logOnce(what: string): void {
    if (!this.#logged.has(what)) this.#options.log(`Server ${this.server.name}: ${what}`);
    this.#logged.add(what);
  }

  /** Returns the first item of each name or address, and logs once which the server lists again. */
  async #list<Item>(
    what: "tools" | "prompts" | "resources" | "resource templates",
    ask: (client: Client) => Promise<readonly Item[]>,
    nameOf: (item: Item) => string,
  ): Promise<readonly Item[]> {
    const capability = what === "resource templates" ? "resources" : what;
    try {
      const listed = await this.#asked(async (client) =>
        client.getServerCapabilities()?.[capability] === undefined ? [] : ask(client),
      );
      this.#failedLists.delete(what);
      const first = new Map<string, Item>();
      for (const item of listed) {
        const name = nameOf(item);
        const shown = characters.clip(name, limits.maxGatewayNameChars);
        if (!first.has(name)) first.set(name, item);
        else this.logOnce(`it lists ${shown} more than once; the first is offered.`);
      }
      return [...first.values()];
    } catch (error) {
      this.#failedLists.set(what, `Its list of ${what} could not be read: ${messageOf(error)}`);
      throw error;
    }
  }

  /** Ends the connection for good, and the program if it was started. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.disconnect();
  }

  /** Ends the connection; the next request opens another. Never rejects. */
  async disconnect(): Promise<void> {
    const [client, giveUp] = [this.#current, this.#giveUp];
    this.#client = this.#current = this.#giveUp = undefined;
    await giveUp?.();
    await (client && end(client));
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(this.#unavailable("The connection is over."));
    if (this.server.problem !== undefined) {
      return Promise.reject(this.#unavailable(this.server.problem));
    }
    if (this.#client !== undefined) return this.#client;
    if (this.#retryAt > Date.now()) return Promise.reject(this.#unavailable(this.#why ?? ""));
    const connected = this.#connect().catch((error: unknown) => {
      const why = this.#redact(messageOf(error));
      // Another attempt may have taken the place of one that was given up.
      if (this.#client === connected) this.#failed(why);
      throw this.#unavailable(why);
    });
    this.#client = connected;
    return connected;
  }

  async #connect(): Promise<Client> {
    const { address } = this.server;
    const isSse = "url" in address && address.isSse === true;
    const stop = new AbortController();
    let transport: Transport | undefined;
    const giveUp = async () => {
      stop.abort();
      // A program need not end with its input.
      await transport?.close().catch(() => undefined);
    };
    this.#giveUp = giveUp;
    const open = (kind?: "sse") =>
      (transport = this.#sieve.sift(this.#options.open(this.server, kind)));
    const { client: asking, onChange } = this.#options;
    const { capabilities } = asking;
    const onChanged = (kind: "tools" | "prompts" | "resources") => ({
      autoRefresh: false,
      onChanged: () => onChange?.({ kind }),
    });
    const client = new Client(
      { name: "byref", version },
      {
        versionNegotiation: { mode: "auto", probe: { timeoutMs: limits.gatewayConnectMs } },
        capabilities,
        ...(onChange && {
          listChanged: {
            tools: onChanged("tools"),
            prompts: onChanged("prompts"),
            resources: onChanged("resources"),
          },
        }),
      },
    );
    this.#listen(client, capabilities);
    const greeting = this.#greeting;
    const isProgram = "command" in address;
    await connectTo(client, { open, isProgram, isSse, signal: stop.signal, greeting });
    if (this.#giveUp === giveUp) this.#giveUp = undefined;
    keepReceivedErrors(client.transport);
    client.onclose = () => this.#closed(client);
    client.onerror = (error) => {
      if (isGivenUp(error)) void end(client);
      else if (codeOf(error) === "limit_exceeded") this.#refusal = messageOf(error);
    };
    this.#current = client;
    const instructions = client.getInstructions()?.trim() ?? "";
    this.#instructions = this.#redact(instructions).replaceAll(LINE_END, "\n");
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
      this.#calling.log(redactTexts(this.#redact, params));
    });
    client.setNotificationHandler("notifications/resources/updated", ({ params: { uri } }) => {
      this.#options.onChange?.({ kind: "resource", uri });
    });
  }

  async #ask<Answer extends InputResponse>(question: InputRequest): Promise<Answer> {
    const { listRoots } = this.#options.client;
    const outside = question.method === QUESTIONS.roots ? listRoots : undefined;
    // A person answers what the server asks; a model must not see secrets.
    const isForModel = question.method === QUESTIONS.sampling;
    const given = withoutToken(question);
    const asked = isForModel ? redactTexts(this.#redact, given) : given;
    // Both ways return the kind of result that the question expects.
    return (await this.#calling.ask(asked, outside)) as Answer;
  }

  async #setLogLevel(client: Client): Promise<void> {
    const level = this.#options.client.logLevel;
    if (level === undefined || client.getServerCapabilities()?.logging === undefined) return;
    // A server without sessions receives the level with each call.
    await client.setLoggingLevel(level).catch(() => undefined);
  }

  /** The next request opens a connection that was lost, without a pause. */
  #closed(client: Client): void {
    if (client === this.#current) this.#failed(this.#refusal ?? "The connection ended.", 0);
  }

  #failed(
    why: string,
    pauseMs = Math.min(1_000 * 2 ** this.#failures++, limits.gatewayRetryMs),
  ): void {
    this.#client = this.#current = this.#giveUp = this.#greeting = undefined;
    this.#retryAt = Date.now() + pauseMs;
    if (this.#why === undefined && !this.#isClosed)
      this.#options.log(`Server ${this.server.name}: ${why}`);
    this.#why = why;
  }

  /**
   * Rejects with the error that the server gave, if it gave one. Sends a request that can be repeated once more if the
   * connection to a URL is lost before the answer.
   */
  async #answered<Result>(
    ask: (client: Client) => Promise<Result>,
    { isRepeatable }: { readonly isRepeatable: boolean },
  ): Promise<Result> {
    try {
      return await this.#asked(ask);
    } catch (error) {
      const pauseMs = Math.max(this.#retryAt - Date.now(), 0);
      const isLost = error instanceof ByrefError && error.details.isCutOff === true;
      if (isRepeatable && isLost && pauseMs <= MAX_PAUSE_MS && !this.#isClosed) {
        await delay(pauseMs);
        this.#retryAt = 0;
        return this.#answered(ask, { isRepeatable: false });
      }
      throw error instanceof ByrefError && error.cause instanceof ProtocolError
        ? error.cause
        : error;
    }
  }

  async #asked<Result>(ask: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await this.#connected();
    try {
      return await ask(client);
    } catch (error) {
      if (!isLostSession(error, this.#greeting !== undefined)) throw this.#failureOf(error, client);
    }
    // A server that was started again, or changed, has not run the request.
    this.#forget(client);
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
    const isLost = "url" in this.server.address && isCutOff(error);
    const isOver = this.#isClosed || this.#client === undefined;
    const sent = isOver || mayHaveRun(error) ? { ...SENT, ...(isLost && { isCutOff: true }) } : {};
    if (isOver) return this.#unavailable(this.#why ?? message, sent);
    if (isUnreachable(error)) {
      // An earlier connection may fail after the next one has been opened.
      if (client === this.#current) this.#failed(message);
      void end(client);
      return this.#unavailable(message, sent);
    }
    const failure = new ByrefError("tool_failed", `Server ${this.server.name}: ${message}`, sent);
    if (isOpen) failure.cause = givenError(error, this.#redact);
    return failure;
  }

  /** Other requests of the same connection may still be refused: they need its end as little as this one. */
  #forget(client: Client): void {
    if (client !== this.#current) return;
    this.#client = this.#current = this.#greeting = undefined;
    setTimeout(() => void end(client), limits.gatewayCloseMs);
  }

  #unavailable(why: string, sent: object = {}): ByrefError {
    const pauseMs = this.#isClosed ? 0 : this.#retryAt - Date.now();
    const retry = pauseMs > 0 ? ` It is tried again in ${Math.ceil(pauseMs / 1_000)} s.` : "";
    const message = `Server ${this.server.name} is not available; continue without its tools. ${why}${retry}`;
    return new ByrefError("server_unavailable", message, { server: this.server.name, ...sent });
  }
}

const LINE_END = /\r\n?|[\u2028\u2029]/gu;

/** The token of the server's own request means another one to the client. */
function withoutToken(question: InputRequest): InputRequest {
  const { progressToken: token, ...meta } = question.params?._meta ?? {};
  if (token === undefined) return question;
  return { ...question, params: { ...question.params, _meta: meta } } as InputRequest;
}

/** Ends the session, too, if there is one. */
async function end(client: Client): Promise<void> {
  const { transport } = client;
  if (transport instanceof StreamableHTTPClientTransport) {
    const ending = withTimeLimit(limits.gatewayCloseMs, () => transport.terminateSession());
    await ending.catch(() => undefined);
  }
  await client.close().catch(() => undefined);
}

/**
 * Starts the task and waits for its result: the client of the gateway makes a call like any other. Cancels the
 * task with the call.
 */
async function callAsTask(
  client: Client,
  params: Readonly<Record<string, unknown>>,
  timing: ReturnType<typeof timingOf>,
): Promise<CallToolResult> {
  const task = { ttl: limits.maxGatewayCallMs };
  const starting = { method: "tools/call", params: { ...params, task } };
  const started = await client.request(starting, specTypeSchemas.CreateTaskResult, timing);
  const { taskId } = started.task;
  try {
    const ending = { method: "tasks/result", params: { taskId } };
    return await client.request(ending, specTypeSchemas.CallToolResult, timing);
  } catch (error) {
    const cancelling = { method: "tasks/cancel", params: { taskId } };
    void client.request(cancelling, specTypeSchemas.CancelTaskResult).catch(() => undefined);
    throw error;
  }
}

/** Something of a server that clients may have to ask for again. */
export type Change = ListChange | { readonly kind: "resource"; readonly uri: string };

export interface ListChange {
  readonly kind: "tools" | "prompts" | "resources";
}
