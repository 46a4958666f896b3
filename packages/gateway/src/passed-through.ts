import {
  type CompleteRequestParams,
  type EmptyResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { waitingOf } from "./client-of-gateway.ts";
import type { Gateway } from "./gateway.ts";
import type { FoundResource } from "./offered-resources.ts";
import type { Upstream } from "./upstream.ts";

/** Serves the prompts of all servers: a name that occurs twice is `server__name` for all but the first. */
export function servePrompts(server: Server, gateway: Gateway): void {
  server.setRequestHandler("prompts/list", async () => ({
    prompts: (await gateway.prompts.list()).map(({ item, shown }) => ({ ...item, name: shown })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    const found = await gateway.prompts.find(params.name);
    if (found === undefined) throw unknown(`prompt ${params.name}`);
    const { upstream, item } = found;
    const asked = { name: item.name, arguments: params.arguments ?? {} };
    taintBy(upstream, gateway);
    return upstream.ask("prompts/get", asked, waitingOf(context));
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

/** The server of the reference, and the reference as it knows it. */
async function completing(ref: CompletionReference, gateway: Gateway) {
  if (ref.type === "ref/prompt") {
    const prompt = await gateway.prompts.find(ref.name);
    return prompt && { upstream: prompt.upstream, ref: { ...ref, name: prompt.item.name } };
  }
  const resource = await gateway.resources.find(ref.uri);
  return resource && { upstream: resource.upstream, ref: { ...ref, uri: resource.uri } };
}

/**
 * Reads a resource, under the address that the client knows, from the server that lists it or has a template
 * for it.
 */
export async function readFromServer(uri: string, gateway: Gateway, context: ServerContext) {
  const found = await gateway.resources.find(uri);
  if (found === undefined) throw unknown(`resource ${uri}`);
  taintBy(found.upstream, gateway);
  const read = await found.upstream.ask("resources/read", { uri: found.uri }, waitingOf(context));
  const asAsked = (shown: string) => (shown === found.uri ? uri : shown);
  return { ...read, contents: read.contents.map((one) => ({ ...one, uri: asAsked(one.uri) })) };
}

/** A model may read what the server answers, also as an error. */
function taintBy({ server }: Upstream, { taint }: Gateway): void {
  if (server.rules.trusted !== true) taint.add();
}

interface Subscribing {
  readonly uri: string;
  readonly gateway: Gateway;
  readonly context: ServerContext;
}

/**
 * Subscribes to a resource at its server, or ends that; returns the server, the address that it knows, and its answer.
 * Rejects for a resource that no server has.
 */
export async function subscribeAtServer(
  method: "resources/subscribe" | "resources/unsubscribe",
  { uri, gateway, context }: Subscribing,
): Promise<FoundResource & { readonly result: EmptyResult }> {
  const found = await gateway.resources.find(uri);
  if (found === undefined) throw unknown(`resource ${uri} to subscribe to`);
  const result = await found.upstream.ask(method, { uri: found.uri }, waitingOf(context));
  return { ...found, result };
}

function unknown(what: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${what}.`);
}
