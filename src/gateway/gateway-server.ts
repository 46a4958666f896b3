import {
  type CallToolRequestParams,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type ElicitResult,
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
} from "@modelcontextprotocol/server";
import { codeOf, messageOf } from "../errors.ts";
import { isObject, type Json } from "../value/json.ts";
import { version } from "../version.ts";
import {
  APPROVAL,
  type ApprovalState,
  approvalState,
  approvedBy,
  DECLINED,
  isDeclined,
  questionAbout,
  refusalOf,
} from "./approvals.ts";
import { failedResult } from "./call-result.ts";
import { passEvents } from "./client-events.ts";
import { answers, modesOf, QUESTIONS } from "./client-of-gateway.ts";
import type { Gateway } from "./gateway.ts";
import { instructionsFor } from "./instructions.ts";
import { type Round, RunningCall, type WaitingCalls } from "./running-call.ts";
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
}

/** State that a client returns with the next round of a call. */
interface State extends ApprovalState {
  /** The call whose server has sent a question. */
  readonly waiting?: string;
}

/** The key of a server's question, as the client names the answer. */
const QUESTION = "question";

/** Returns a server for one connection or one request of a client; it serves both eras of the protocol. */
export function gatewayServer(
  gateway: Gateway,
  options: ServingOptions,
  era: McpRequestContext["era"],
): Server {
  const codec = createRequestStateCodec<State>({ key: options.key });
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
      instructions: instructionsFor(gateway),
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
    return answerTo(params, { ...options, gateway, codec, context, declared });
  });
  serveResources(server, gateway);
  servePrompts(server, gateway);
  passEvents(server, gateway, era);
  return server;
}

interface Answering extends ServingOptions {
  readonly gateway: Gateway;
  readonly codec: RequestStateCodec<State>;
  readonly context: ServerContext;
  readonly declared: ClientCapabilities;
}

async function answerTo(
  params: CallToolRequestParams,
  answering: Answering,
): Promise<CallToolResult | InputRequiredResult> {
  const { codec, waiting, context, declared } = answering;
  if (isDeclined(context)) return failedResult("tool_denied", DECLINED);
  const call = continued(answering) ?? begun(params, answering);
  const answer = await asProtocolError(() => call.next(roundOf(context, declared)));
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
      if (modesOf(declared).form === undefined) {
        return failedResult("approval_required", refusalOf(answer));
      }
      const question = inputRequired.elicit({
        message: questionAbout(params.name, answer),
        requestedSchema: { type: "object", properties: {} },
      });
      return inputRequired({
        inputRequests: { [APPROVAL]: question },
        requestState: await codec.mint(await approvalState(params.name, answer.pin, answering)),
      });
    }
  }
}

function begun({ name, arguments: input = {} }: CallToolRequestParams, answering: Answering) {
  const { gateway, context } = answering;
  const isApproved = approvedBy(name, answering);
  const logLevel = envelopeOf(context)?.[LOG_LEVEL_META_KEY] as LoggingLevel | undefined;
  return new RunningCall(gateway, { name, input: input as Json, isApproved, logLevel });
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
  const response = inputResponse(mcpReq.inputResponses, QUESTION);
  call.reply(({ method }) => answerFrom(response, method));
  return call;
}

/** Undefined if the client's answer is not of the question's kind. */
function answerFrom(
  response: InputResponseView,
  method: InputRequest["method"],
): InputResponse | undefined {
  if (response.kind === "elicit" && method === QUESTIONS.elicitation) {
    const { action, content } = response;
    return { action, ...(content && { content: content as ElicitResult["content"] }) };
  }
  if (response.kind === "sampling" && method === QUESTIONS.sampling) {
    return response.result as InputResponse;
  }
  if (response.kind === "roots" && method === QUESTIONS.roots) return { roots: response.roots };
  return undefined;
}

function roundOf({ mcpReq }: ServerContext, declared: ClientCapabilities): Round {
  const { signal, _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  const round: Round = {
    signal,
    answers: (question) => answers(declared, question),
    onLog: ({ level, data, logger }) => {
      void mcpReq.log(level, data, logger).catch(() => undefined);
    },
  };
  if (progressToken === undefined) return round;
  return {
    ...round,
    onProgress: (progress) => {
      const params = { ...progress, progressToken };
      void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    },
  };
}

function declaredBy(server: Server, context: ServerContext): ClientCapabilities {
  const declared =
    envelopeOf(context)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return isObject(declared) ? declared : {};
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
    const message = `${codeOf(error)}: ${messageOf(error)}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
}
