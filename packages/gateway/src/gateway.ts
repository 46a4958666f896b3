import { type CallToolResult, ProtocolError, type Tool } from "@modelcontextprotocol/server";
import { ByrefError, codeOf, messageOf } from "../../../src/errors.ts";
import { diffsOfEdited, ownTools, policies, type wraps } from "../../../src/internal-tool.ts";
import { json, type VariableStore, withTimeLimit } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import { type CallFailure, CallResults, isLongFailure } from "./call-result.ts";
import { type ClientOfCall, ClientOfGateway, guardedClient } from "./client-of-gateway.ts";
import { type GatewayState, runsOnce, unknownOutcome, wasSent } from "./gateway-state.ts";
import { type ServerConfiguration, type ToolOffer, isAllowed } from "./configuration.ts";
import * as limits from "./gateway-limits.ts";
import { instructionsFor, withServers } from "./instructions.ts";
import { savedFailure, savedValue } from "./json-text.ts";
import {
  CALL_TOOL,
  lastingNames,
  type LocalTools,
  type NameTools,
  offeredPrompts,
  offeredResources,
  type OfferedTool,
  offeredTools,
  type ToolOfServer,
  withFinder,
} from "./offered-items.ts";
import { type FileSaver, type OwnTool, saveVariable, showVariable } from "./own-tools.ts";
import {
  type ApprovalNeeded,
  type Approved,
  type CallAnswer,
  type Fields,
  type GatewayCall,
  WaitingCalls,
} from "./running-call.ts";
import { type ListKeeper, toolLists } from "./tool-lists.ts";
import {
  type Change,
  type OpenTransport,
  Upstream,
  type UpstreamStatus,
} from "./servers/upstream.ts";

export interface GatewayOptions {
  readonly servers: readonly ServerConfiguration[];
  readonly store: VariableStore;
  readonly open: OpenTransport;
  /** Creates `query_variables`; without it, there is no such tool. */
  readonly queries?: (wrap: wraps.WrapOptions) => { readonly query: OwnTool } | undefined;
  /** Offers tools of this process before those of the servers. */
  readonly local?: LocalTools;
  readonly tools?: ToolOffer | undefined;
  /** Writes files for `save_variable`; without it, there is no such tool. */
  readonly files?: FileSaver;
  /** Returns the view of `show_variable`, as HTML; without it, there is no such tool. */
  readonly app?: () => string;
  /**
   * Remembers whether the client's model has seen what is not trusted, approvals that wait, calls that a crash cuts
   * off, and counts.
   */
  readonly state: GatewayState;
  /** Keeps lists of tools for the next start. Default: nothing does. */
  readonly lists?: ListKeeper;
  /** Receives lines for a person; never a value of a result. */
  readonly log: (line: string) => void;
}

/** A server's state, as `byref://status` shows it. */
export interface ServerStatus extends UpstreamStatus {
  /** The part of its instructions that the client's model has not received. */
  readonly cutInstructions?: string;
}

/** Returns the short scalars of an input that a person is shown. None if it is cut; no number that a double rounds. */
function fieldsIn({ input = "", fixed = [] }: Partial<policies.ApprovalRequest> = {}): Fields {
  const shown = json.jsonIn(input);
  const fields = Object.entries(json.isObject(shown) ? shown : {}).filter(([name, value]) => {
    if (fixed.includes(name)) return false;
    const isText = typeof value === "string";
    return isText
      ? value.length <= limits.maxFieldChars
      : /^(?:number|boolean)$/u.test(typeof value);
  });
  return Object.fromEntries(fields.slice(0, limits.maxFields)) as Fields;
}

/** Returns the fields that a person has changed. One that a client leaves out, or empty, is as it was. */
export function changedFields(fields: Fields, content: Approved["content"]): Fields {
  const changed = Object.entries(fields).flatMap(([name, shown]) => {
    const given = Object.hasOwn(content, name) ? typedLike(shown, content[name]) : shown;
    const isKept = given === shown || given === "" || given === null;
    return isKept ? [] : [[name, given as typeof shown] as const];
  });
  return Object.fromEntries(changed);
}

/**
 * Reads a number or a boolean that a client sends as text. What is of another type stays: the tool's schema refuses
 * it, and nothing runs that the person has not seen.
 */
function typedLike(shown: Fields[string], given: unknown): unknown {
  const read = typeof given === "string" ? json.jsonIn(given) : undefined;
  return typeof given !== typeof shown && typeof read === typeof shown ? read : given;
}

/** Evictions of one call; the next one does the rest. */
const MAX_EVICTIONS = 1_000;

/**
 * The tools of several servers as one list, by reference: results are kept as variables, and references in
 * inputs are resolved before a server sees them.
 */
export class Gateway {
  readonly store: VariableStore;
  readonly upstreams: readonly Upstream[];
  readonly app: (() => string) | undefined;
  /** The program that uses the gateway, as servers see it. */
  readonly client = new ClientOfGateway();
  readonly log: (line: string) => void;
  readonly state: GatewayState;
  /** The addresses that clients watch, for each connection. */
  readonly watched = new Set<ReadonlyMap<string, unknown>>();
  /** The calls that wait for an answer, of all connections. */
  readonly waiting = new WaitingCalls();
  readonly prompts: ReturnType<typeof offeredPrompts> = offeredPrompts(this);
  readonly resources: ReturnType<typeof offeredResources> = offeredResources(this);
  readonly #options: GatewayOptions;
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #wrap: wraps.WrapOptions;
  readonly #lists: ReturnType<typeof toolLists>;
  readonly #names: NameTools;
  readonly #results: CallResults;
  readonly #own: readonly OwnTool[];
  /** What the client has of each server's instructions, by the server's name. Undefined before its greeting. */
  #instructed: ReadonlyMap<string, string> | undefined;
  #offered: Promise<ReadonlyMap<string, OfferedTool>> | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { open, log, state, store, lists: keeper = new Map() } = options;
    this.store = store;
    this.log = log;
    this.app = options.app;
    this.#names = lastingNames(options.servers.map(({ name }) => name));
    this.#results = new CallResults(state);
    this.state = state;
    this.#wrap = { store, taint: state.taint, toolMs: limits.maxGatewayCallMs };
    this.#own = this.#ownTools();
    const onToolsChanged = () => this.#changed({ kind: "tools" });
    this.#lists = toolLists({ log, onToolsChanged, keeper });
    this.upstreams = options.servers.map((server) => {
      const onChange = (change: Change) => {
        if (change.kind === "tools") return this.#lists.renew(upstream);
        if (change.kind !== "resource") return this.#changed(change);
        const uri = this.resources.addressOf({ upstream, uri: change.uri });
        this.#changed({ kind: "resource", uri });
      };
      const upstream = new Upstream(server, { open, log, client: this.client, onChange });
      return upstream;
    });
  }

  /** The servers, whether they answer, and what of them the client has not received. */
  get status(): readonly ServerStatus[] {
    return this.upstreams.map((upstream) => {
      const text = this.#instructed && this.#lists.instructionsOf(upstream);
      const given = this.#instructed?.get(upstream.server.name) ?? "";
      const cutInstructions = text?.startsWith(given) ? text.slice(given.length).trim() : text;
      return { ...upstream.status, ...(cutInstructions && { cutInstructions }) };
    });
  }

  get canQuery(): boolean {
    return this.#own.some(({ name }) => name === "query_variables");
  }

  /** True if only the gateway's own tools are listed, and the others are found and called with two of them. */
  get searches(): boolean {
    return this.#options.tools === "search";
  }

  /**
   * Returns the instructions for the client's model, with those of the servers. Waits a moment for servers that are
   * new. Never rejects.
   */
  async instructions(): Promise<string> {
    const unknown = this.upstreams.filter((one) => this.#lists.instructionsOf(one) === undefined);
    const connecting = () => Promise.allSettled(unknown.map((upstream) => upstream.connect()));
    await withTimeLimit(limits.gatewayInstructionsMs, connecting).catch(() => undefined);
    for (const upstream of unknown) this.#lists.waitedFor(upstream);
    const servers = this.upstreams.map((upstream) => {
      return { name: upstream.server.name, text: this.#lists.instructionsOf(upstream) ?? "" };
    });
    const { text, given } = withServers(instructionsFor(this), servers);
    this.#instructed = given;
    return text;
  }

  /** The tools of the servers that answer, unless they are found by a search, then the gateway's own. */
  async tools(): Promise<readonly Tool[]> {
    const listing = this.#list();
    // Calls need not wait for servers that are asked again.
    const before = (this.#offered ??= listing);
    const offered = await listing;
    if (this.#offered === before) this.#offered = listing;
    const listed = [...offered.values()].filter(({ own }) => !this.searches || own !== undefined);
    const calling = this.searches ? [CALL_TOOL] : [];
    return [...listed.map(({ definition }) => definition), ...calling];
  }

  /** Calls `listener` when a list or a resource has changed, until the returned function is called. */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Runs a call. Failures are results, because a model reads them. Rejects for an unknown tool, and with an error of
   * the protocol that a server gave.
   */
  async call(call: GatewayCall): Promise<CallAnswer | ApprovalNeeded> {
    const offered = await this.#tools();
    const tool = offered.get(call.name);
    if (tool === undefined) {
      const starting = this.status.filter(({ state }) => state === "starting");
      const names = starting.map(({ name }) => name).join(", ");
      const hint = names === "" ? "" : ` These servers are still starting: ${names}.`;
      throw new ByrefError(
        "unknown_tool",
        policies.noSuchTool(call.name, [...offered.keys()]) + hint,
      );
    }
    await this.#evict();
    const toolCallId = crypto.randomUUID();
    const { signal } = call;
    const answered = (failure: CallFailure) => ({
      kind: "result" as const,
      result: this.#results.failed(call.name, failure),
    });
    const running: Running = { call };
    this.#running.set(toolCallId, running);
    try {
      const prepare = (input: Json) =>
        tool.wrapped.prepare(input, { toolCallId, messages: [], signal });
      const prepared = await prepare(call.input);
      if (prepared.kind === "failed") return answered(prepared);
      const { approval, pin } = prepared;
      const fields = fieldsIn(approval);
      const { approvals } = this.state;
      const asked = JSON.stringify([call.name, pin]);
      const { question = "", content = {} } = call.approved ?? {};
      const isApproved = approval === undefined || approvals.take(question, asked) !== undefined;
      const changed = isApproved ? changedFields(fields, content) : {};
      const isChanged = Object.keys(changed).length > 0 && json.isJsonObject(call.input);
      const input = isChanged ? { ...call.input, ...changed } : call.input;
      // What a person has changed is checked like the model's input.
      const ready = isChanged ? await prepare(input) : prepared;
      if (approval !== undefined && (!isApproved || ready.kind === "failed")) {
        const diffs = await diffsOfEdited(prepared.variables, this.store);
        const why = ready.kind === "failed" ? `${ready.code}: ${ready.message} ` : "";
        // The same question again if the answer was refused.
        const id = isApproved ? question : crypto.randomUUID();
        approvals.ask(id, asked);
        const shown = { ...approval, reason: `${why}${approval.reason}`, diffs };
        return { kind: "approval", approval: shown, fields, question: id };
      }
      if (ready.kind === "failed") return answered(ready);
      running.call = guardedClient(call, ready.visibility);
      const result = await this.#runOnce(tool, ready, toolCallId);
      if (!isChanged) return { kind: "result", result };
      const note = { type: "text" as const, text: policies.ranInstead(input) };
      return { kind: "result", result: { ...result, content: [note, ...result.content] } };
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      return answered({ code: codeOf(error), message: messageOf(error) });
    } finally {
      this.#running.delete(toolCallId);
    }
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Ends all connections; the next call opens them again. Never rejects. */
  async disconnect(): Promise<void> {
    await Promise.all(this.upstreams.map((upstream) => upstream.disconnect()));
  }

  /** Ends all connections and programs. Never rejects. */
  async close(): Promise<void> {
    await Promise.all(this.upstreams.map((upstream) => upstream.close()));
  }

  /** Fails for a call that a crash cut off and that must not run twice. */
  #runOnce(tool: OfferedTool, ready: wraps.Ready, toolCallId: string): Promise<CallToolResult> {
    const run = () => this.#run(tool, ready, toolCallId);
    const { definition, from } = tool;
    if (from === undefined || !runsOnce(from.tool)) return run();
    const key = JSON.stringify([from.upstream.server.name, from.tool.name, ready.pin]);
    return this.state.runOnce(key, definition.name, run);
  }

  async #run(tool: OfferedTool, ready: wraps.Ready, toolCallId: string): Promise<CallToolResult> {
    const run = await ready.run();
    const { received, refusal } = this.#running.get(toolCallId) ?? {};
    if (run.kind === "failed") {
      if (refusal !== undefined) throw this.#results.refused(refusal);
      // Of a guarded call, the server's own words could reveal a value.
      const isShown = received?.isError === true && ready.visibility === "model";
      if (isShown) return this.#results.failedAtServer(received);
      return this.#results.failed(tool.definition.name, run);
    }
    const saved = await run.save();
    // Its own tools answer with JSON.
    const shown = await tool.own?.toModelOutput?.(saved.output as Json, this.store);
    return this.#results.saved(tool, { saved, received, ready, shown });
  }

  #tools(): Promise<ReadonlyMap<string, OfferedTool>> {
    this.#offered ??= this.#list();
    return this.#offered;
  }

  async #list(): Promise<ReadonlyMap<string, OfferedTool>> {
    const lists = await Promise.all(
      this.upstreams.map(async (upstream): Promise<readonly ToolOfServer[]> => {
        const tools = await this.#lists.toolsOf(upstream);
        const { filter } = upstream.server;
        return tools
          .filter(({ name }) => isAllowed(filter, name))
          .map((tool) => ({ upstream, tool }));
      }),
    );
    const local = await this.#options.local?.(this.#wrap);
    const offered = await offeredTools(lists.flat(), {
      wrap: this.#wrap,
      local: local ?? new Map(),
      own: this.#own,
      names: this.#names,
      call: (from, input, toolCallId) => this.#callServer(from, input, toolCallId),
    });
    return this.searches ? withFinder(offered, this.#wrap) : offered;
  }

  #ownTools(): readonly OwnTool[] {
    const { app, files, queries } = this.#options;
    const { query } = queries?.(this.#wrap) ?? {};
    return [
      // Clients' models have no guide to parameters that are not listed.
      ...ownTools
        .variableTools()
        .filter(({ name }) => OWN_TOOLS.has(name))
        .map((tool) => ({ ...tool, unlisted: [] })),
      ...(query === undefined ? [] : [query]),
      ...(files === undefined ? [] : [saveVariable(files)]),
      ...(app === undefined ? [] : [showVariable()]),
    ];
  }

  async #callServer(
    { upstream, tool }: ToolOfServer,
    input: Readonly<Record<string, unknown>>,
    toolCallId: string,
  ): Promise<unknown> {
    const running = this.#running.get(toolCallId);
    if (running === undefined) throw new ByrefError("internal", "The call is over.");
    const sent = upstream.call({ tool, input, from: running.call });
    const received = await sent.catch((error: unknown) => {
      if (error instanceof ProtocolError) running.refusal = error;
      if (!wasSent(error) || !runsOnce(tool)) throw error;
      throw unknownOutcome(tool.name, `Server ${upstream.server.name} gave no answer`);
    });
    const content = received.content.map((part) => this.resources.withAddress(part, upstream));
    running.received = { ...received, content };
    if (received.isError !== true) return savedValue(received);
    const isGuarded = (running.call.visibility ?? "model") !== "model";
    if (!isGuarded && isLongFailure(received)) return savedFailure(received);
    throw new ByrefError("tool_failed", "The server reported a failure.");
  }

  #changed(change: Change): void {
    if (change.kind === "tools") this.#offered = undefined;
    for (const listener of this.#listeners) listener(change);
  }

  async #evict(): Promise<void> {
    const nowMs = Date.now();
    if ((this.store.nextDueMs() ?? Infinity) <= nowMs) this.store.evictDue(nowMs, MAX_EVICTIONS);
    if (this.store.hasGarbage()) await this.store.sweep();
  }
}

interface Running {
  call: ClientOfCall;
  received?: CallToolResult;
  /** The error of the protocol that the server gave in its place. */
  refusal?: ProtocolError;
}

const OWN_TOOLS = new Set("list_variables read_variable edit_variable".split(" "));
