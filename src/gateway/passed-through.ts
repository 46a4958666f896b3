import {
  ProtocolError,
  ProtocolErrorCode,
  type Prompt,
  type Resource,
  type ResourceTemplateType,
  type Server,
  type ServerContext,
  UriTemplate,
} from "@modelcontextprotocol/server";
import { messageOf } from "../errors.ts";
import type { Gateway } from "./gateway.ts";
import { uniqueNames } from "./unique-names.ts";
import type { Upstream } from "./upstream.ts";

interface Found<Item> {
  readonly upstream: Upstream;
  readonly item: Item;
  /** The name or address that the client sees. */
  readonly shown: string;
}

/** Serves the prompts of all servers: a name that occurs twice is `server__name` for all but the first. */
export function servePrompts(server: Server, gateway: Gateway): void {
  const all = async (): Promise<readonly Found<Prompt>[]> => {
    const found = await listed(gateway, (upstream) => upstream.prompts());
    const named = found.map(({ upstream, item }) => ({
      server: upstream.server.name,
      name: item.name,
    }));
    const names = uniqueNames(named);
    return found.map((one, index) => ({ ...one, shown: names[index] ?? one.item.name }));
  };
  server.setRequestHandler("prompts/list", async () => ({
    prompts: (await all()).map(({ item, shown }) => ({ ...item, name: shown })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    const found = (await all()).find(({ shown }) => shown === params.name);
    if (found === undefined) throw unknown(`prompt ${params.name}`);
    const { upstream, item } = found;
    const asked = { name: item.name, arguments: params.arguments ?? {} };
    return upstream.ask("prompts/get", asked, { signal: context.mcpReq.signal });
  });
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref } = params;
    const found =
      ref.type === "ref/prompt"
        ? (await all()).find(({ shown }) => shown === ref.name)
        : await owning(ref.uri, gateway);
    if (found === undefined) return { completion: { values: [] } };
    const own = ref.type === "ref/prompt" ? { ...ref, name: found.item.name } : ref;
    const asked = { ...params, ref: own };
    return found.upstream.ask("completion/complete", asked, { signal: context.mcpReq.signal });
  });
}

/** The resources of all servers; of several with one address, the first server's. */
export async function resourcesOfServers(gateway: Gateway): Promise<readonly Resource[]> {
  const found = await listed(gateway, (upstream) => upstream.resources());
  return firstOf(found.map(({ item }) => item));
}

/** The templates of all servers. */
export async function templatesOfServers(
  gateway: Gateway,
): Promise<readonly ResourceTemplateType[]> {
  return (await listed(gateway, (upstream) => upstream.resourceTemplates())).map(
    ({ item }) => item,
  );
}

/** Reads a resource from the server that lists it, or has a template for its address. */
export async function readFromServer(uri: string, gateway: Gateway, { mcpReq }: ServerContext) {
  const found = await owning(uri, gateway);
  if (found === undefined) throw unknown(`resource ${uri}`);
  return found.upstream.ask("resources/read", { uri }, { signal: mcpReq.signal });
}

async function owning(uri: string, gateway: Gateway) {
  const resources = await listed(gateway, (upstream) => upstream.resources());
  const exact = resources.find(({ item }) => item.uri === uri);
  if (exact !== undefined) return exact;
  const templates = await listed(gateway, (upstream) => upstream.resourceTemplates());
  return templates.find(
    ({ item }) => item.uriTemplate === uri || new UriTemplate(item.uriTemplate).match(uri) !== null,
  );
}

/** A server that does not answer has none. */
async function listed<Item>(
  gateway: Gateway,
  list: (upstream: Upstream) => Promise<readonly Item[]>,
): Promise<readonly { readonly upstream: Upstream; readonly item: Item }[]> {
  const lists = await Promise.all(
    gateway.upstreams.map(async (upstream) => {
      try {
        return (await list(upstream)).map((item) => ({ upstream, item }));
      } catch (error) {
        gateway.log(messageOf(error));
        return [];
      }
    }),
  );
  return lists.flat();
}

function firstOf(resources: readonly Resource[]): readonly Resource[] {
  return [...new Map(resources.toReversed().map((one) => [one.uri, one])).values()].toReversed();
}

function unknown(what: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${what}.`);
}
