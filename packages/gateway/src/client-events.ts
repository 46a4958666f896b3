import type {
  ClientCapabilities,
  McpRequestContext,
  Server,
  ServerNotifier,
} from "@modelcontextprotocol/server";
import type { Gateway } from "./gateway.ts";
import { subscribeAtServer } from "./passed-through.ts";
import type { Change, ListChange } from "./change.ts";

/**
 * Passes on notifications of the client and the servers outside of calls. The returned function is to be called with
 * the client's capabilities, before servers are connected.
 */
export function passEvents(
  server: Server,
  gateway: Gateway,
  era: McpRequestContext["era"],
): (declared: ClientCapabilities) => void {
  /** The URI that the client uses, by the one that the gateway shows. */
  const watched = new Map<string, string>();
  const unsubscribe = gateway.onChange((change) => {
    if (change.kind !== "resource") return void tell(server, change).catch(() => undefined);
    const uri = watched.get(change.uri);
    if (uri !== undefined) void server.sendResourceUpdated({ uri }).catch(() => undefined);
  });
  server.onclose = unsubscribe;
  // Later versions have neither of these: levels and roots come with each request.
  if (era === "modern") return () => undefined;
  passLogLevel(server, gateway);
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
    const found = await subscribeAtServer("resources/subscribe", { uri, gateway, context });
    watched.set(gateway.resources.addressOf(found), uri);
    return found.result;
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }, context) => {
    for (const [key, known] of watched) if (known === uri) watched.delete(key);
    return (await subscribeAtServer("resources/unsubscribe", { uri, gateway, context })).result;
  });
  return passRoots(server, gateway, unsubscribe);
}

/** Tells the clients that listen to a handler of HTTP requests. */
export function publish(notifier: ServerNotifier, change: Change): void {
  switch (change.kind) {
    case "tools":
      return notifier.toolsChanged();
    case "prompts":
      return notifier.promptsChanged();
    case "resources":
      return notifier.resourcesChanged();
    case "resource":
      return notifier.resourceUpdated(change.uri);
  }
}

function tell(server: Server, change: ListChange): Promise<void> {
  switch (change.kind) {
    case "tools":
      return server.sendToolListChanged();
    case "prompts":
      return server.sendPromptListChanged();
    case "resources":
      return server.sendResourceListChanged();
  }
}

/** The servers themselves leave out what is below the level. */
function passLogLevel(server: Server, gateway: Gateway): void {
  server.setRequestHandler("logging/setLevel", async ({ params: { level } }) => {
    gateway.client.logLevel = level;
    await Promise.all(gateway.upstreams.map((upstream) => upstream.setLogLevel()));
    return {};
  });
}

/** Servers ask for the roots whenever they like, also when no call runs. A client answers once it is initialized. */
function passRoots(server: Server, gateway: Gateway, unsubscribe: () => void) {
  const { client } = gateway;
  let initialize: () => void = () => undefined;
  const initialized = new Promise<void>((done) => {
    initialize = done;
  });
  const listRoots = async () => {
    await initialized;
    return server.listRoots();
  };
  server.oninitialized = initialize;
  server.onclose = () => {
    unsubscribe();
    initialize();
    if (client.listRoots === listRoots) client.listRoots = undefined;
  };
  server.setNotificationHandler("notifications/roots/list_changed", () => {
    for (const upstream of gateway.upstreams) void upstream.rootsChanged();
  });
  return ({ roots }: ClientCapabilities) => {
    if (roots !== undefined) client.listRoots = listRoots;
  };
}
