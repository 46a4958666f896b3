import {
  type CallToolRequestParams,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequest,
  inputRequired,
  type InputRequiredResult,
  type InputResponse,
  inputResponse,
  type InputResponseView,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type RequestStateCodec,
  type Resource,
  Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import { codeOf, messageOf } from "../../../src/errors.ts";
import { json } from "../../../src/internal.ts";
import type { ApprovalLedger } from "../../../src/internal-tool.ts";
import type { Json } from "../../../src/references.ts";
import { version } from "../../../src/version.ts";
import {
  APPROVAL,
  type ApprovalState,
  approvalsFor,
  DECLINED,
  questionAbout,
  refusalOf,
} from "./approvals.ts";
import { failedResult } from "./call-result.ts";
import { reasonOf } from "./connection-loss.ts";
import { passEvents } from "./client-events.ts";
import { answerGreetings } from "./client-greeting.ts";
import { type AskClient, answers, modesOf, QUESTIONS, waitingOf } from "./client-of-gateway.ts";
import type { Gateway, GatewayCall } from "./gateway.ts";
import * as limits from "./gateway-limits.ts";
import { type Round, RunningCall, type WaitingCalls } from "./running-call.ts";
import { keepSentCodes } from "./protocol-errors.ts";
import { readFromServer, servePrompts } from "./passed-through.ts";
import { isShowing, showsApps } from "./show-variable.ts";
import { withTokens } from "./statistics.ts";
import {
  isVariableUri,
  readVariableUri,
  VARIABLE_TEMPLATE,
  variableResources,
} from "./variable-resources.ts";

export interface ServingOptions {
  /** Signs what clients send back: at least 32 bytes, the same for all processes of a workspace. */
  readonly key: Uint8Array;
  /** The calls that wait for an answer, of all connections. */
  readonly waiting: WaitingCalls;
  /** The approvals that calls wait for, of all processes of a workspace. */
  readonly approvals: ApprovalLedger<string>;
}

/** State that a client returns with the next round of a call. */
interface State extends ApprovalState {
  /** The call whose server has sent a question. */
  readonly waiting?: string;
}

type Era = McpRequestContext["era"];

/** The key of a server's question, as the client names the answer. */
const QUESTION = "question";

/** Returns a server for one connection or one request of a client; it serves both eras of the protocol. */
export function gatewayServer(gateway: Gateway, options: ServingOptions, era: Era): Server {
  const codec = createRequestStateCodec<State>({ key: options.key });
  const server = new (era === "legacy" ? LegacyServer : Server)(
    { name: "byref", title: "Byref", version },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: era === "legacy" },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: codec.verify },
    },
  );
  server.setRequestHandler("tools/list", async (_request, context) => {
    const declared = declaredBy(server, context);
    gateway.client.declare(declared);
    const tools = await gateway.tools();
    return { tools: tools.filter((tool) => showsApps(declared) || !isShowing(tool)) };
  });
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const declared = declaredBy(server, context);
    gateway.client.declare(declared);
    return answerTo(params, { ...options, gateway, codec, context, declared, era });
  });
  serveResources(server, gateway);
  servePrompts(server, gateway);
  const onGreeted = passEvents(server, gateway, era);
  answerGreetings(server, gateway, onGreeted);
  return server;
}

/** Later versions prescribe the code of a resource that is missing. */
class LegacyServer extends Server {
  override async connect(transport: Transport): Promise<void> {
    keepSentCodes(transport);
    await super.connect(transport);
  }
}

interface Answering extends ServingOptions {
  readonly gateway: Gateway;
  readonly codec: RequestStateCodec<State>;
  readonly context: ServerContext;
  readonly declared: ClientCapabilities;
  readonly era: Era;
}

async function answerTo(
  params: CallToolRequestParams,
  answering: Answering,
): Promise<CallToolResult | InputRequiredResult> {
  const { codec, waiting, approvals } = answering;
  const approving = approvalsFor(params.name, answering.context, approvals);
  if (approving.isDeclined) return failedResult("tool_denied", DECLINED);
  const call = continued(answering) ?? begun(params, answering, approving);
  const answer = await asProtocolError(() => call.next(roundOf(answering)));
  switch (answer.kind) {
    case "result":
      return answer.result;
    case "question":
      waiting.add(call);
      return inputRequired({
        inputRequests: { [QUESTION]: answer.request },
        requestState: await codec.mint({ waiting: call.id }),
      });
    case "approval": {
      if (modesOf(answering.declared).form === undefined) {
        return failedResult("approval_required", refusalOf(answer));
      }
      const question = inputRequired.elicit({
        message: questionAbout(params.name, answer),
        requestedSchema: { type: "object", properties: {} },
      });
      return inputRequired({
        inputRequests: { [APPROVAL]: question },
        requestState: await codec.mint({ question: answer.question }),
      });
    }
  }
}

function begun(
  { name, arguments: input = {} }: CallToolRequestParams,
  { gateway, context }: Answering,
  approving: Pick<GatewayCall, "isApproved" | "ask">,
) {
  const logLevel = envelopeOf(context)?.[LOG_LEVEL_META_KEY] as LoggingLevel | undefined;
  const { meta } = waitingOf(context);
  return new RunningCall(gateway, { name, input: input as Json, ...approving, logLevel, meta });
}

/**
 * Returns the call that waits for the answer in this request. Throws if the question has expired, or if the gateway
 * was restarted.
 */
function continued({ context: { mcpReq }, waiting }: Answering): RunningCall | undefined {
  const id = mcpReq.requestState<State>()?.waiting;
  if (id === undefined) return undefined;
  const call = waiting.take(id);
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

/** The kinds of answers, by the question. */
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
  return json.isObject(declared) ? declared : {};
}

/** The library types the envelope as an object without keys. */
function envelopeOf({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> | undefined {
  return mcpReq.envelope;
}

function serveResources(server: Server, gateway: Gateway): void {
  server.setRequestHandler("resources/list", async (_request, context) => ({
    resources: [
      ...(gateway.app !== undefined && showsApps(declaredBy(server, context))
        ? [gateway.app.resource]
        : []),
      STATUS,
      STATS,
      VARIABLES,
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
    if (uri === gateway.app?.resource.uri) return gateway.app.read();
    if (uri === STATUS.uri) return jsonContents(STATUS, gateway.status);
    if (uri === STATS.uri) return jsonContents(STATS, withTokens(gateway.counts));
    if (uri === VARIABLES.uri) return jsonContents(VARIABLES, variableResources(gateway.store));
    if (isVariableUri(uri)) return asProtocolError(() => readVariableUri(uri, gateway));
    return readFromServer(uri, gateway, context);
  });
}

const STATUS = {
  uri: "byref://status",
  name: "status",
  description: "The servers behind the gateway, and whether they answer.",
  mimeType: "application/json",
};

const STATS = {
  uri: "byref://stats",
  name: "stats",
  description: "What was kept and saved in this workspace. Counts, never values.",
  mimeType: "application/json",
};

const VARIABLES = {
  uri: "byref://variables",
  name: "variables",
  description: "Names, addresses, shapes and sizes of the variables.",
  mimeType: "application/json",
};

function jsonContents({ uri, mimeType }: Resource, value: unknown): ReadResourceResult {
  return { contents: [{ uri, mimeType, text: JSON.stringify(value, undefined, 2) }] };
}

async function asProtocolError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const message = `${codeOf(error)}: ${messageOf(error)}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
}
