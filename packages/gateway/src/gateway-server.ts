import {
  CLIENT_CAPABILITIES_META_KEY,
  type CallToolRequestParams,
  type CallToolResult,
  type ClientCapabilities,
  type CompleteRequestParams,
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequiredResult,
  type InputResponse,
  type InputResponseView,
  type JSONRPCMessage,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  Server,
  type ServerContext,
  type ServerNotifier,
  type Transport,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";
import { codeOf, messageOf } from "../../../src/errors.ts";
import { characters, json } from "../../../src/internal.ts";
import type { policies } from "../../../src/internal-tool.ts";
import type { Json } from "../../../src/references.ts";
import { version } from "../../../src/version.ts";
import { failedResult } from "./call-result.ts";
import { keepSentCodes, reasonOf } from "./servers/server-errors.ts";
import {
  type AskClient,
  QUESTIONS,
  answers,
  capabilitiesIn,
  modesOf,
  waitingOf,
} from "./client-of-gateway.ts";
import type { Gateway } from "./gateway.ts";
import * as limits from "./gateway-limits.ts";
import { type ApprovalNeeded, type Fields, type Round, RunningCall } from "./running-call.ts";
import {
  VARIABLE_TEMPLATE,
  VIEW,
  readView,
  isShowing,
  isVariableUri,
  readVariableUri,
  showsApps,
  variableResources,
} from "./own-tools.ts";
import { withTokens } from "./gateway-state.ts";
import { CALL_TOOL, calledBy } from "./offered-items.ts";
import type { Change, Upstream } from "./servers/upstream.ts";

/** State that a client returns with the next round of a call. */
interface State {
  readonly waiting?: string;
  readonly question?: string;
}

type Era = McpRequestContext["era"];

/** The key of a server's question, as the client names the answer. */
const QUESTION = "question";

/** Returns a server for one connection or one request of a client; it serves both eras of the protocol. */
export function gatewayServer(gateway: Gateway, era: Era): Server {
  const server = new Server(
    { name: "byref", title: "Byref", version },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: era === "legacy" },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: (...given) => codecOf(gateway).verify(...given) },
    },
  );
  server.setRequestHandler("tools/list", async (_request, context) => {
    const declared = declaredBy(server, context);
    const tools = await gateway.tools();
    return { tools: tools.filter((tool) => showsApps(declared) || !isShowing(tool)) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const declared = declaredBy(server, context);
    const answering = { gateway, context, declared, era };
    // A model that calls by `call_tool` reads what is wrong: the tool that its client has called is there.
    const isOther = gateway.searches && params.name === CALL_TOOL.name;
    try {
      return await answerTo(isOther ? calledBy(params) : params, answering);
    } catch (error) {
      if (!isOther || error instanceof ProtocolError) throw protocolErrorOf(error);
      return failedResult(codeOf(error), messageOf(error));
    }
  });
  serveResources(server, gateway);
  servePrompts(server, gateway);
  const listRoots = passEvents(server, gateway, era);
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    // Later versions prescribe the code of a resource that is missing.
    if (era === "legacy") keepSentCodes(transport);
    return connect(instructed(transport, gateway, listRoots));
  };
  return server;
}

/** Signs what clients send back. Nothing is signed before a call, so that reading alone writes nothing. */
function codecOf({ state }: Gateway): RequestStateCodec<State> {
  return createRequestStateCodec<State>({ key: state.signingKey() });
}

interface Answering {
  readonly gateway: Gateway;
  readonly context: ServerContext;
  readonly declared: ClientCapabilities;
  readonly era: Era;
}

async function answerTo(
  { name, arguments: input = {} }: CallToolRequestParams,
  answering: Answering,
): Promise<CallToolResult | InputRequiredResult> {
  const { gateway, context } = answering;
  const response = inputResponse(context.mcpReq.inputResponses, APPROVAL);
  const { question = "" } = context.mcpReq.requestState<State>() ?? {};
  if (response.kind === "elicit" && response.action !== "accept") {
    gateway.state.approvals.take(question);
    return failedResult("tool_denied", DECLINED);
  }
  const { content = {} } = response.kind === "elicit" ? response : {};
  const approved = response.kind === "elicit" ? { question, content } : undefined;
  const logLevel = envelopeOf(context)?.[LOG_LEVEL_META_KEY] as LoggingLevel | undefined;
  const { meta } = waitingOf(context);
  const asked = { name, input: input as Json, approved, logLevel, meta };
  const call = continued(answering) ?? new RunningCall((given) => gateway.call(given), asked);
  const answer = await call.next(roundOf(answering));
  const required = async (inputRequests: Record<string, InputRequest>, state: State) =>
    inputRequired({ inputRequests, requestState: await codecOf(gateway).mint(state) });
  switch (answer.kind) {
    case "result":
      return answer.result;
    case "question":
      gateway.waiting.add(call);
      return required({ [QUESTION]: answer.request }, { waiting: call.id });
    case "approval": {
      if (modesOf(answering.declared).form === undefined) {
        return failedResult("approval_required", refusalOf(answer.approval.reason));
      }
      const question = inputRequired.elicit({
        message: questionAbout(name, answer),
        requestedSchema: { type: "object", properties: propertiesFor(answer.fields) },
      });
      return required({ [APPROVAL]: question }, { question: answer.question });
    }
  }
}

/**
 * Returns the call that waits for the answer in this request. Throws if the question has expired, or if the gateway
 * was restarted.
 */
function continued({ context: { mcpReq }, gateway }: Answering): RunningCall | undefined {
  const id = mcpReq.requestState<State>()?.waiting;
  if (id === undefined) return undefined;
  const call = gateway.waiting.take(id);
  if (call === undefined) {
    const message = "The question was not answered in time, or the gateway was started again.";
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const { inputResponses } = mcpReq;
  const { kind } = inputResponse(inputResponses, QUESTION);
  // The view leaves out what it does not know, such as `_meta`.
  const given = inputResponses?.[QUESTION] as InputResponse | undefined;
  call.reply(({ method }) => (ANSWERS[method] === kind ? given : undefined));
  return call;
}

const ANSWERS: Readonly<Record<InputRequest["method"], InputResponseView["kind"]>> = {
  [QUESTIONS.elicitation]: "elicit",
  [QUESTIONS.sampling]: "sampling",
  [QUESTIONS.roots]: "roots",
};

function roundOf({ context, declared, era }: Answering): Round {
  const { mcpReq } = context;
  const timing = { timeout: limits.gatewayQuestionMs, resetTimeoutOnProgress: true };
  const options = { ...timing, signal: mcpReq.signal, onprogress: () => undefined };
  // The result is of the kind that the question expects.
  const ask: AskClient = async ({ method, params }) => {
    const sent = mcpReq.send({ method, ...(params && { params }) }, options);
    const answer = await sent.catch((error: unknown) => {
      if (error instanceof ProtocolError) throw error;
      throw new ProtocolError(ProtocolErrorCode.InternalError, reasonOf(error));
    });
    return answer as InputResponse;
  };
  return {
    ...waitingOf(context),
    answers: (question) => answers(declared, question),
    onLog: ({ level, data, logger }) => {
      void mcpReq.log(level, data, logger).catch(() => undefined);
    },
    // Later versions have no requests to clients.
    ...(era === "legacy" && { ask }),
  };
}

function declaredBy(server: Server, context: ServerContext): ClientCapabilities {
  const declared =
    envelopeOf(context)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return capabilitiesIn(declared);
}

/** The library types the envelope as an object without keys. */
function envelopeOf({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> | undefined {
  return mcpReq.envelope;
}

function serveResources(server: Server, gateway: Gateway): void {
  server.setRequestHandler("resources/list", async (_request, context) => ({
    resources: [
      ...(gateway.app !== undefined && showsApps(declaredBy(server, context)) ? [VIEW] : []),
      ...OWN_RESOURCES.map(({ read: _read, ...resource }) => ({
        ...resource,
        mimeType: JSON_TYPE,
      })),
      ...variableResources(gateway.store),
      ...(await gateway.resources.list()),
    ],
  }));
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: [
      { name: "variable", uriTemplate: VARIABLE_TEMPLATE },
      ...(await gateway.resources.templates()),
    ],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
    if (gateway.app !== undefined && uri === VIEW.uri) return readView(gateway.app());
    const own = OWN_RESOURCES.find((one) => one.uri === uri);
    if (own !== undefined) {
      const text = JSON.stringify(own.read(gateway), undefined, 2);
      return { contents: [{ uri, mimeType: JSON_TYPE, text }] };
    }
    if (!isVariableUri(uri)) return readFromServer(uri, gateway, context);
    return readVariableUri(uri, gateway).catch((error: unknown) => {
      throw protocolErrorOf(error);
    });
  });
}

/** The gateway's own resources, whose contents are JSON. */
const JSON_TYPE = "application/json";
const OWN_RESOURCES = [
  {
    uri: "byref://status",
    name: "status",
    description: "The servers behind the gateway, and whether they answer.",
    read: (gateway: Gateway): unknown => gateway.status,
  },
  {
    uri: "byref://stats",
    name: "stats",
    description: "What was kept and saved in this workspace. Counts, never values.",
    read: (gateway: Gateway): unknown => withTokens(gateway.state.read()),
  },
];

function protocolErrorOf(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const message = `${codeOf(error)}: ${messageOf(error)}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** The key of the question whether a call may run, as the client names the answer. */
const APPROVAL = "approve";

const DECLINED = "The user declined this call. Do not try it again unless you are asked to.";

function propertiesFor(fields: Fields): ElicitRequestFormParams["requestedSchema"]["properties"] {
  const entries = Object.entries(fields).map(([name, value]) => {
    return [name, { type: typeof value, default: value } as { type: "string"; default: string }];
  });
  return Object.fromEntries(entries);
}

export function questionAbout(tool: string, { approval }: ApprovalNeeded): string {
  const { reason, input, diffs = [] } = approval;
  // Diffs come first, because the input is clipped and can fill what a client shows.
  const parts = [characters.visibleText(`Run ${tool}? ${reason}`), ...diffs.map(diffText), input];
  return parts.join("\n\n");
}

function diffText({ name, from, diff, more, withheld }: policies.VariableDiff): string {
  if (diff === undefined) return `$${name} was edited: ${WITHHELD[withheld ?? "gone"]}.`;
  const source = from === undefined ? "" : ` from $${from.name}, version ${from.version}`;
  const rest = more === undefined ? "" : `… (+${more} lines)\n`;
  return `$${name} was edited${source}:\n${diff}${rest}`.trimEnd();
}

const WITHHELD = {
  sealed: "the change is sealed",
  too_large: "the values are too large to compare",
  gone: "the value before is not kept",
} as const;

function refusalOf(reason: string): string {
  return `${reason} This client cannot ask a person. Do not try again; tell the user, who can use a client with elicitation or change "approval" of this server in the configuration.`;
}

/** The first request of a client, in both eras of the protocol. */
const GREETINGS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/**
 * Answers the client's greeting with the servers' instructions, too. The library fixes instructions before it knows
 * the client, but servers are connected with the client's capabilities, which later versions send with each request.
 */
function instructed(transport: Transport, gateway: Gateway, listRoots: ListRoots): Transport {
  const greetings = new Set<unknown>();
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  // The library calls this handler before its own.
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    onmessage?.(message, extra);
    if (!("method" in message) || !("id" in message)) return;
    const declared = declaredIn(message.params);
    gateway.client.declare(declared);
    if (!GREETINGS.has(message.method)) return;
    greetings.add(message.id);
    if (listRoots && declared.roots) gateway.client.listRoots = listRoots;
  };
  transport.send = async (message, options) => {
    if ("result" in message && greetings.delete(message.id)) {
      message.result = { ...message.result, instructions: await gateway.instructions() };
    }
    return send(message, options);
  };
  return transport;
}

type ListRoots = Gateway["client"]["listRoots"];

function declaredIn(params: unknown): ClientCapabilities {
  const { capabilities, _meta: meta } = json.isObject(params) ? params : {};
  const declared =
    capabilities ?? (json.isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined);
  return capabilitiesIn(declared);
}

/**
 * Passes on notifications of the client and the servers outside of calls. Returns what asks a client of an older
 * version for its roots: servers ask whenever they like, and a client answers once it is initialized.
 */
function passEvents(server: Server, gateway: Gateway, era: Era): ListRoots {
  const { client, resources, upstreams } = gateway;
  /** The URI that the client uses, by the one that the gateway shows. */
  const watched = new Map<string, string>();
  gateway.watched.add(watched);
  const unsubscribe = gateway.onChange((change) => {
    if (change.kind !== "resource") {
      return void server[TELL[change.kind]]().catch(() => undefined);
    }
    const uri = watched.get(change.uri);
    if (uri !== undefined) void server.sendResourceUpdated({ uri }).catch(() => undefined);
  });
  const initialized = Promise.withResolvers<void>();
  const listRoots = async () => {
    await initialized.promise;
    return server.listRoots();
  };
  server.oninitialized = () => initialized.resolve();
  server.onclose = () => {
    unsubscribe();
    gateway.watched.delete(watched);
    initialized.resolve();
    if (client.listRoots === listRoots) client.listRoots = undefined;
  };
  // Later versions have none of these: levels and roots come with each request.
  if (era === "modern") return undefined;
  // The servers themselves leave out what is below the level.
  server.setRequestHandler("logging/setLevel", async ({ params: { level } }) => {
    client.logLevel = level;
    await Promise.all(upstreams.map((upstream) => upstream.setLogLevel()));
    return {};
  });
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) {
    server.setRequestHandler(method, async ({ params: { uri } }, context) => {
      const isBegin = method === "resources/subscribe";
      for (const [key, known] of watched) if (!isBegin && known === uri) watched.delete(key);
      const found = await resources.find(uri);
      if (found === undefined) throw unknown(`resource ${uri} to subscribe to`);
      const address = resources.addressOf(found);
      // The server knows one client only.
      if (!isBegin && [...gateway.watched].some((one) => one.has(address))) return {};
      const result = await found.upstream.ask(method, { uri: found.uri }, waitingOf(context));
      if (isBegin) watched.set(address, uri);
      return result;
    });
  }
  server.setNotificationHandler("notifications/roots/list_changed", () => {
    for (const upstream of upstreams) void upstream.rootsChanged();
  });
  return listRoots;
}

/** Tells the clients that listen to a handler of HTTP requests. */
export function publish(notifier: ServerNotifier, change: Change): void {
  if (change.kind === "resource") notifier.resourceUpdated(change.uri);
  else notifier[`${change.kind}Changed`]();
}

const TELL = {
  tools: "sendToolListChanged",
  prompts: "sendPromptListChanged",
  resources: "sendResourceListChanged",
} as const;

/** Serves the prompts of all servers: a name that occurs twice is `server__name` for all but the first. */
function servePrompts(server: Server, gateway: Gateway): void {
  server.setRequestHandler("prompts/list", async () => ({
    prompts: (await gateway.prompts.list()).map(({ item, shown }) => ({ ...item, name: shown })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    const found = await gateway.prompts.find(params.name);
    if (found === undefined) throw unknown(`prompt ${params.name}`);
    const { upstream, item } = found;
    const asked = { name: item.name, arguments: params.arguments ?? {} };
    taintBy(upstream, gateway);
    const prompted = await upstream.ask("prompts/get", asked, waitingOf(context));
    const messages = prompted.messages.map((message) => {
      return { ...message, content: gateway.resources.withAddress(message.content, upstream) };
    });
    return { ...prompted, messages };
  });
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    // The rest of the request is for the gateway.
    const { ref, argument, context: known } = params;
    const found = await completing(ref, gateway);
    if (found === undefined) return { completion: { values: [] } };
    const asked = { ref: found.ref, argument, ...(known && { context: known }) };
    return found.upstream.ask("completion/complete", asked, waitingOf(context));
  });
}

type CompletionReference = CompleteRequestParams["ref"];

async function completing(ref: CompletionReference, gateway: Gateway) {
  if (ref.type === "ref/prompt") {
    const prompt = await gateway.prompts.find(ref.name);
    return prompt && { upstream: prompt.upstream, ref: { ...ref, name: prompt.item.name } };
  }
  const resource = await gateway.resources.find(ref.uri);
  return resource && { upstream: resource.upstream, ref: { ...ref, uri: resource.uri } };
}

/**
 * Reads a resource, under the address that the client knows, from the server that lists it or has a template for it.
 */
async function readFromServer(uri: string, gateway: Gateway, context: ServerContext) {
  const found = await gateway.resources.find(uri);
  if (found === undefined) throw unknown(`resource ${uri}`);
  taintBy(found.upstream, gateway);
  const read = await found.upstream.ask("resources/read", { uri: found.uri }, waitingOf(context));
  const asAsked = (shown: string) => (shown === found.uri ? uri : shown);
  return { ...read, contents: read.contents.map((one) => ({ ...one, uri: asAsked(one.uri) })) };
}

/** A model may read what the server answers, also as an error. */
function taintBy({ server }: Upstream, { state }: Gateway): void {
  if (server.rules.trusted !== true) state.taint.add();
}

function unknown(what: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${what}.`);
}
