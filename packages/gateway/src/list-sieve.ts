import {
  isSpecType,
  type JSONRPCMessage,
  specTypeSchemas,
  type Transport,
} from "@modelcontextprotocol/client";
import * as limits from "./gateway-limits.ts";
import { characters, json } from "../../../src/internal.ts";

/** An item of a server's list that is not offered. */
export interface LeftOut {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  /** Its name or address, or its place in the list. */
  readonly name: string;
  readonly why: string;
}

interface List {
  readonly kind: LeftOut["kind"];
  readonly key: string;
  readonly type: "Tool" | "Prompt" | "Resource" | "ResourceTemplate";
}

const LISTS: Readonly<Record<string, List>> = {
  "tools/list": { kind: "tool", key: "tools", type: "Tool" },
  "prompts/list": { kind: "prompt", key: "prompts", type: "Prompt" },
  "resources/list": { kind: "resource", key: "resources", type: "Resource" },
  "resources/templates/list": {
    kind: "template",
    key: "resourceTemplates",
    type: "ResourceTemplate",
  },
};

/** Takes items out of a server's lists that the library would refuse together with all others of the list. */
export class ListSieve {
  readonly #leftOut = new Map<string, LeftOut>();
  readonly #onLeftOut: (item: LeftOut) => void;

  constructor(onLeftOut: (item: LeftOut) => void) {
    this.#onLeftOut = onLeftOut;
  }

  get leftOut(): readonly LeftOut[] {
    return [...this.#leftOut.values()];
  }

  /** Adds an item, which stays until the list is requested again. */
  leaveOut({ kind, name: written, why }: LeftOut): void {
    const name = characters.clip(written, limits.maxGatewayNameChars);
    const item = { kind, name, why };
    this.#leftOut.set(`${kind} ${name}`, item);
    this.#onLeftOut(item);
  }

  /** Returns the transport, which the library has not yet opened. */
  sift(transport: Transport): Transport {
    const asked = new Map<unknown, List>();
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const list = "method" in message ? LISTS[message.method] : undefined;
      if (list !== undefined && "method" in message && "id" in message) {
        asked.set(message.id, list);
        if (message.params?.cursor === undefined) this.#forget(list);
      }
      return send(message, options);
    };
    // The library calls this handler before it reads the message.
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!("result" in message)) return;
      const list = asked.get(message.id);
      asked.delete(message.id);
      if (list !== undefined) message.result = this.#sifted(message.result, list);
    };
    return transport;
  }

  #sifted<Result extends object>(result: Result, list: List): Result {
    const { [list.key]: items, nextCursor } = result as Readonly<Record<string, unknown>>;
    if (!Array.isArray(items)) return result;
    const kept = items.map(withoutOutput).filter((item, index) => {
      const why = refusalOf(item, list);
      if (why !== undefined) this.leaveOut({ kind: list.kind, name: nameOf(item, index), why });
      return why === undefined;
    });
    // Some servers end a list with null or an empty text.
    const isEnd = nextCursor === null || nextCursor === "";
    return { ...result, [list.key]: kept, ...(isEnd && { nextCursor: undefined }) };
  }

  #forget({ kind }: List): void {
    for (const [key, item] of this.#leftOut) {
      if (item.kind === kind) this.#leftOut.delete(key);
    }
  }
}

/** Results are handles, whose form no schema of a server describes. */
function withoutOutput(item: unknown): unknown {
  return json.isObject(item) && "outputSchema" in item
    ? { ...item, outputSchema: undefined }
    : item;
}

function nameOf(item: unknown, index: number): string {
  const { name, uri, uriTemplate } = json.isObject(item) ? item : {};
  const found = [name, uri, uriTemplate].find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? found : `number ${index + 1}`;
}

function refusalOf(item: unknown, { type }: List): string | undefined {
  try {
    if (isSpecType[type](item)) return undefined;
  } catch {
    return "It has too many levels.";
  }
  const { issues: [issue] = [] } = specTypeSchemas[type]["~standard"].validate(item);
  return [issue?.path?.join("."), issue?.message].filter(Boolean).join(": ");
}
