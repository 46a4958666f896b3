import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type JSONRPCMessage,
  type Server,
  type Transport,
} from "@modelcontextprotocol/server";
import { json } from "../../../src/internal.ts";
import type { Gateway } from "./gateway.ts";

/** The first request of a client, in both eras of the protocol. */
const GREETINGS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/**
 * Answers the client's greeting with the servers' instructions, too. The library fixes instructions before it knows
 * the client, but servers are connected with the client's capabilities. `onGreeted` is called before that.
 */
export function answerGreetings(
  server: Server,
  gateway: Gateway,
  onGreeted: (declared: ClientCapabilities) => void,
): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => connect(instructed(transport, gateway, onGreeted));
}

function instructed(
  transport: Transport,
  gateway: Gateway,
  onGreeted: (declared: ClientCapabilities) => void,
): Transport {
  const greetings = new Set<unknown>();
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  // The library calls this handler before its own.
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    onmessage?.(message, extra);
    if (!("method" in message) || !("id" in message) || !GREETINGS.has(message.method)) return;
    greetings.add(message.id);
    const declared = declaredIn(message.params);
    gateway.client.declare(declared);
    onGreeted(declared);
  };
  transport.send = async (message, options) => {
    if ("result" in message && greetings.delete(message.id)) {
      message.result = { ...message.result, instructions: await gateway.instructions() };
    }
    return send(message, options);
  };
  return transport;
}

function declaredIn(params: unknown): ClientCapabilities {
  const { capabilities, _meta: meta } = json.isObject(params) ? params : {};
  const declared =
    capabilities ?? (json.isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined);
  return json.isObject(declared) ? declared : {};
}
