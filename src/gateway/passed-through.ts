import {
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  type ResourceTemplateType,
  type Server,
  type ServerContext,
  UriTemplate,
} from "@modelcontextprotocol/server";
import type { Gateway } from "./gateway.ts";
import { itemsOf } from "./items-of-servers.ts";

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
    return upstream.ask("prompts/get", asked, { signal: context.mcpReq.signal });
  });
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref } = params;
    const found =
      ref.type === "ref/prompt"
        ? await gateway.prompts.find(ref.name)
        : await owning(ref.uri, gateway);
    if (found === undefined) return { completion: { values: [] } };
    const own = ref.type === "ref/prompt" ? { ...ref, name: found.item.name } : ref;
    const asked = { ...params, ref: own };
    return found.upstream.ask("completion/complete", asked, { signal: context.mcpReq.signal });
  });
}

/** The resources of all servers; of several with one address, the first server's. */
export async function resourcesOfServers(gateway: Gateway): Promise<readonly Resource[]> {
  const found = await itemsOf(gateway, (upstream) => upstream.resources());
  return firstOf(found.map(({ item }) => item));
}

/** The templates of all servers. */
export async function templatesOfServers(
  gateway: Gateway,
): Promise<readonly ResourceTemplateType[]> {
  return (await itemsOf(gateway, (upstream) => upstream.resourceTemplates())).map(
    ({ item }) => item,
  );
}

/** Reads a resource from the server that lists it, or has a template for its address. */
export async function readFromServer(uri: string, gateway: Gateway, { mcpReq }: ServerContext) {
  const found = await owning(uri, gateway);
  if (found === undefined) throw unknown(`resource ${uri}`);
  return found.upstream.ask("resources/read", { uri }, { signal: mcpReq.signal });
}

interface Subscribing {
  readonly uri: string;
  readonly gateway: Gateway;
  readonly signal: AbortSignal;
}

/** Subscribes to a resource at its server, or ends that. Rejects for a resource that no server has. */
export async function subscribeAtServer(
  method: "resources/subscribe" | "resources/unsubscribe",
  { uri, gateway, signal }: Subscribing,
): Promise<void> {
  const found = await owning(uri, gateway);
  if (found === undefined) throw unknown(`resource ${uri} to subscribe to`);
  await found.upstream.ask(method, { uri }, { signal });
}

async function owning(uri: string, gateway: Gateway) {
  const resources = await itemsOf(gateway, (upstream) => upstream.resources());
  const exact = resources.find(({ item }) => item.uri === uri);
  if (exact !== undefined) return exact;
  const templates = await itemsOf(gateway, (upstream) => upstream.resourceTemplates());
  return templates.find(
    ({ item }) => item.uriTemplate === uri || new UriTemplate(item.uriTemplate).match(uri) !== null,
  );
}

function firstOf(resources: readonly Resource[]): readonly Resource[] {
  return [...new Map(resources.toReversed().map((one) => [one.uri, one])).values()].toReversed();
}

function unknown(what: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${what}.`);
}
