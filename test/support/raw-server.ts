import {
  Client,
  InMemoryTransport,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";

/** What a server can send besides answers. */
export interface Wire {
  /** Sends any object, even one that is not a message of the protocol. */
  send(message: object): void;
  notify(method: string, params?: object): void;
  /** Sends a request to the client. The promise settles with its answer or its error. */
  ask(method: string, params: object): Promise<unknown>;
  close(): void;
}

/** Answers a request: the return value is the result, an exception is the error. */
export type RawAnswer = (params: Readonly<Record<string, unknown>>, wire: Wire) => unknown;

/** An answer that never arrives. */
export const silence: RawAnswer = () => new Promise(() => undefined);

/** A protocol error. */
export class RawError extends Error {
  readonly data: unknown;
  readonly code: number | undefined;

  constructor(message: string, data?: unknown, code?: number) {
    super(message);
    this.data = data;
    this.code = code;
  }
}

const GREETING = {
  protocolVersion: "2025-06-18",
  capabilities: {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  },
  serverInfo: { name: "raw", version: "1" },
};

const EMPTY: Readonly<Record<string, RawAnswer>> = {
  initialize: () => GREETING,
  "tools/list": () => ({ tools: [] }),
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "prompts/list": () => ({ prompts: [] }),
  "completion/complete": () => ({ completion: { values: [] } }),
  "resources/subscribe": () => ({}),
  "logging/setLevel": () => ({}),
  ping: () => ({}),
};

/** A client of the server, without a gateway. */
export async function connectDirectly(server: RawServer): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  return client;
}

/**
 * A server of these tools, which take any object unless they say so. By default each returns its name; `list` is
 * beside the tools in their list.
 */
export function toolServer(
  tools: readonly (string | object)[],
  answer: RawAnswer = ({ name }) => ({ content: [{ type: "text", text: name }] }),
  list: object = {},
): RawServer {
  const toolOf = (tool: string | object) => ({
    inputSchema: { type: "object" },
    ...(typeof tool === "string" ? { name: tool } : tool),
  });
  const listed = () => ({ tools: tools.map(toolOf), ...list });
  return new RawServer({ "tools/list": listed, "tools/call": answer });
}

/** A server that answers as scripted, even against the protocol, and records what it receives. */
export class RawServer {
  readonly received: JSONRPCMessage[] = [];
  readonly #answers: Readonly<Record<string, RawAnswer | undefined>>;
  readonly #asked = new Map<unknown, (message: object) => void>();
  /** The last connection. */
  wire: Wire | undefined;

  /** Methods without an answer are unknown. */
  constructor(answers: Readonly<Record<string, RawAnswer | undefined>> = {}) {
    this.#answers = { ...EMPTY, ...answers };
  }

  async connect(transport: Transport): Promise<void> {
    this.wire = this.#wireOf(transport);
    transport.onmessage = (message: JSONRPCMessage) => {
      this.received.push(message);
      void this.#receive(message, transport);
    };
    await transport.start();
  }

  async #receive(message: JSONRPCMessage, transport: Transport): Promise<void> {
    if (!("method" in message)) {
      return this.#asked.get("id" in message ? message.id : undefined)?.(message);
    }
    if (!("id" in message)) return;
    const { id, method, params = {} } = message;
    const related = this.#wireOf(transport, id);
    const answer = this.#answers[method];
    try {
      if (answer === undefined) throw new RawError("Method not found");
      related.send({ id, result: await answer(params, related) });
    } catch (error) {
      const { message: text, data, code: given } = error as RawError;
      const code = given ?? (answer === undefined ? -32_601 : -32_603);
      related.send({ id, error: { code, message: text, data } });
    }
  }

  /** `relatedRequestId`: the request to whose answer the messages belong, over HTTP. */
  #wireOf(transport: Transport, relatedRequestId?: string | number): Wire {
    const options = relatedRequestId === undefined ? {} : { relatedRequestId };
    const send = (message: object) => {
      const written = { jsonrpc: "2.0", ...message } as JSONRPCMessage;
      void transport.send(written, options).catch(() => undefined);
    };
    return {
      send,
      notify: (method, params = {}) => send({ method, params }),
      ask: (method, params) =>
        new Promise((done) => {
          const id = crypto.randomUUID();
          this.#asked.set(id, done);
          send({ id, method, params });
        }),
      close: () => void transport.close(),
    };
  }
}
