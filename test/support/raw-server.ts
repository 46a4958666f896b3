import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/** What a server can send besides answers. */
export interface Wire {
  /** Sends anything, also what is no message of the protocol. */
  send(message: object): void;
  notify(method: string, params?: object): void;
  /** Asks the client; the promise ends with its answer or its error. */
  ask(method: string, params: object): Promise<unknown>;
  close(): void;
}

/** Answers a request: what it returns is the result, what it throws is the error. */
export type RawAnswer = (params: Readonly<Record<string, unknown>>, wire: Wire) => unknown;

/** A promise that never ends. */
export const silence: RawAnswer = () => new Promise(() => undefined);

/** An error of the protocol. */
export class RawError extends Error {
  readonly data: unknown;

  constructor(message: string, data?: unknown) {
    super(message);
    this.data = data;
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

/** A server that answers as it is told, whatever the protocol says, and keeps what it receives. */
export class RawServer {
  readonly received: JSONRPCMessage[] = [];
  readonly #answers: Readonly<Record<string, RawAnswer>>;
  readonly #asked = new Map<unknown, (message: object) => void>();
  /** The last connection. */
  wire: Wire | undefined;

  constructor(answers: Readonly<Record<string, RawAnswer>> = {}) {
    this.#answers = { ...EMPTY, ...answers };
  }

  async connect(transport: Transport): Promise<void> {
    const wire = this.#wireOf(transport);
    this.wire = wire;
    transport.onmessage = (message: JSONRPCMessage) => {
      this.received.push(message);
      void this.#receive(message, wire);
    };
    await transport.start();
  }

  async #receive(message: JSONRPCMessage, wire: Wire): Promise<void> {
    if (!("method" in message)) {
      return this.#asked.get("id" in message ? message.id : undefined)?.(message);
    }
    if (!("id" in message)) return;
    const { id, method, params = {} } = message;
    const answer = this.#answers[method];
    try {
      if (answer === undefined) throw new RawError("Method not found");
      wire.send({ id, result: await answer(params, wire) });
    } catch (error) {
      const { message: text, data } = error as RawError;
      const code = answer === undefined ? -32_601 : -32_603;
      wire.send({ id, error: { code, message: text, data } });
    }
  }

  #wireOf(transport: Transport): Wire {
    const send = (message: object) => {
      const written = { jsonrpc: "2.0", ...message } as JSONRPCMessage;
      void transport.send(written).catch(() => undefined);
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
