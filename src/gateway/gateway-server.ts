import {
  type CallToolRequestParams,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type ElicitResult,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { codeOf, messageOf } from "../errors.ts";
import { toBase64 } from "../value/base64.ts";
import { isObject, type Json } from "../value/json.ts";
import { version } from "../version.ts";
import { failedResult } from "./call-result.ts";
import type { ApprovalNeeded, Gateway, GatewayCall } from "./gateway.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { type Round, RunningCall, type WaitingCalls } from "./running-call.ts";
import {
  readFromServer,
  resourcesOfServers,
  servePrompts,
  templatesOfServers,
} from "./passed-through.ts";
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

/** What a client sends back with the next round of a call. */
interface State {
  /** A digest of the pin of the call that a person was shown. The pin itself must not leave the gateway. */
  readonly approved?: string;
  /** The call whose server asked a question. */
  readonly waiting?: string;
}

/** The two kinds of questions, as the client names their answers. */
const APPROVAL = "approve";
const QUESTION = "question";

/** Returns a server for one connection or one request of a client; it serves both eras of the protocol. */
export function gatewayServer(gateway: Gateway, options: ServingOptions): Server {
  const codec = createRequestStateCodec<State>({ key: options.key });
  const server = new Server(
    { name: "byref", title: "Byref", version },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, completions: {} },
      instructions: INSTRUCTIONS,
      requestState: { verify: codec.verify },
    },
  );
  server.setRequestHandler("tools/list", async (_request, context) => {
    if (canElicit(server, context)) gateway.allowQuestions();
    return { tools: [...(await gateway.tools())] };
  });
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const canAsk = canElicit(server, context);
    if (canAsk) gateway.allowQuestions();
    return answerTo(params, { ...options, gateway, codec, context, canAsk });
  });
  serveResources(server, gateway);
  servePrompts(server, gateway);
  const unsubscribe = gateway.onToolsChanged(() => {
    void server.sendToolListChanged().catch(() => undefined);
  });
  server.onclose = unsubscribe;
  return server;
}

interface Answering extends ServingOptions {
  readonly gateway: Gateway;
  readonly codec: RequestStateCodec<State>;
  readonly context: ServerContext;
  /** True if the client can ask a person. */
  readonly canAsk: boolean;
}

async function answerTo(
  params: CallToolRequestParams,
  answering: Answering,
): Promise<CallToolResult | InputRequiredResult> {
  const { codec, key, waiting, context, canAsk } = answering;
  if (isDeclined(context)) return failedResult("tool_denied", DECLINED);
  const call = continued(answering) ?? begun(params, answering);
  const answer = await asProtocolError(() => call.next(roundOf(context)));
  switch (answer.kind) {
    case "result":
      return answer.result;
    case "question":
      waiting.add(call);
      return inputRequired({
        inputRequests: { [QUESTION]: { method: "elicitation/create", params: answer.params } },
        requestState: await codec.mint({ waiting: call.id }),
      });
    case "approval": {
      if (!canAsk) return failedResult("approval_required", refusalOf(answer));
      const question = inputRequired.elicit({
        message: questionAbout(params.name, answer),
        requestedSchema: { type: "object", properties: {} },
      });
      const approved = await keyedDigest(answer.pin, key);
      return inputRequired({
        inputRequests: { [APPROVAL]: question },
        requestState: await codec.mint({ approved }),
      });
    }
  }
}

function begun({ name, arguments: input = {} }: CallToolRequestParams, answering: Answering) {
  const { gateway, context, key } = answering;
  const isApproved = approvedBy(context, key);
  return new RunningCall(gateway, { name, input: input as Json, isApproved });
}

/** Returns the call that waits for the answer in this request. It is over if nobody answered in time. */
function continued({ context: { mcpReq }, waiting }: Answering): RunningCall | undefined {
  const id = mcpReq.requestState<State>()?.waiting;
  if (id === undefined) return undefined;
  const call = waiting.take(id);
  if (call === undefined) {
    const message = "The question was not answered in time, or the gateway was started again.";
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const response = inputResponse(mcpReq.inputResponses, QUESTION);
  const { action, content } =
    response.kind === "elicit" ? response : { action: "cancel" as const, content: undefined };
  call.reply({ action, ...(content && { content: content as ElicitResult["content"] }) });
  return call;
}

const DECLINED = "The user declined this call. Do not try it again unless you are asked to.";

function isDeclined({ mcpReq }: ServerContext): boolean {
  const response = inputResponse(mcpReq.inputResponses, APPROVAL);
  return response.kind === "elicit" && response.action !== "accept";
}

/** Approves the call whose pin was shown to a person who accepted, and no other. */
function approvedBy({ mcpReq }: ServerContext, key: Uint8Array): GatewayCall["isApproved"] {
  const response = inputResponse(mcpReq.inputResponses, APPROVAL);
  const approved = mcpReq.requestState<State>()?.approved;
  const isAccepted = response.kind === "elicit" && response.action === "accept";
  return async (pin) => isAccepted && approved === (await keyedDigest(pin, key));
}

function roundOf({ mcpReq }: ServerContext): Round {
  const { signal, _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return { signal };
  return {
    signal,
    onProgress: (progress) => {
      const params = { ...progress, progressToken };
      void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    },
  };
}

function canElicit(server: Server, { mcpReq }: ServerContext): boolean {
  // The library types the envelope as an object without keys.
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return isObject(declared) && declared.elicitation !== undefined;
}

function questionAbout(tool: string, { approval }: ApprovalNeeded): string {
  return `Run ${tool}? ${approval.reason}\n\n${approval.input}`;
}

function refusalOf({ approval }: ApprovalNeeded): string {
  return `${approval.reason} This client cannot ask a person. Do not try again; tell the user, who can use a client with elicitation or change "approval" of this server in the configuration.`;
}

function serveResources(server: Server, gateway: Gateway): void {
  server.setRequestHandler("resources/list", async () => ({
    resources: [
      STATUS,
      ...variableResources(gateway.store),
      ...(await resourcesOfServers(gateway)),
    ],
  }));
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: [
      { name: "variable", uriTemplate: VARIABLE_TEMPLATE },
      ...(await templatesOfServers(gateway)),
    ],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
    if (uri === STATUS.uri) {
      const text = JSON.stringify(gateway.status, undefined, 2);
      return { contents: [{ uri, mimeType: STATUS.mimeType, text }] };
    }
    if (isVariableUri(uri)) return asProtocolError(() => readVariableUri(uri, gateway.store));
    return readFromServer(uri, gateway, context);
  });
}

const STATUS = {
  uri: "byref://status",
  name: "status",
  description: "The servers behind the gateway, and whether they answer.",
  mimeType: "application/json",
};

async function asProtocolError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const message = `${codeOf(error)}: ${messageOf(error)}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
}

async function keyedDigest(text: string, key: Uint8Array): Promise<string> {
  const imported = await crypto.subtle.importKey(
    "raw",
    new Uint8Array(key),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text));
  return toBase64(new Uint8Array(signature));
}
