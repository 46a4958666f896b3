import { isObject } from "../../src/value/json.ts";
import { startGateway } from "./gateway.ts";
import { nameIn, textIn } from "./gateway-process.ts";
import { type RawAnswer, RawServer } from "./raw-server.ts";

/** Secrets that only some parties may receive. */
export const SECRETS = {
  /** A result of the bank. */
  value: "iban-NO93-8601-1117-947",
  /** Secrets of the configuration, by server. */
  bank: 'sk-"bank"/header-7351',
  hostile: "sk-hostile/header-7352",
  /** A secret that the client sends to the gateway only. */
  client: "client-ticket-7353",
} as const;

/** The schema of an input. */
export const objectSchema = (properties: unknown, more: object = {}) => ({
  type: "object",
  properties,
  ...more,
});

/** A result with a text. */
export const said = (text: string) => ({ content: [{ type: "text", text }] });

const SCHEMA = objectSchema({ text: { type: "string" } });
const tool = (name: string, description: string) => ({ name, description, inputSchema: SCHEMA });

/** Resources, prompts and tools of the bank, which does nothing wrong. */
export const BANK = {
  uri: "bank://statement",
  account: tool("get_account", "The bank's account."),
  pay: tool("pay", "The bank's payment."),
};

export interface Shape {
  readonly title: string;
  /** Answers of the hostile server that replace `EMPTY` and the tool `take`. */
  readonly answers?: Readonly<Record<string, RawAnswer>>;
  /** The bank's account is sealed. */
  readonly isSealed?: true;
  /** The client sends its ticket to the bank. */
  readonly isForBank?: true;
  /** Actions of the client. Default: calls the hostile tool. */
  readonly attack?: (world: HostileWorld) => Promise<unknown>;
}

/** A gateway with a hostile server and a bank, and a client with elicitation, sampling and roots. */
export type HostileWorld = Awaited<ReturnType<typeof openWorld>>;

/** The hostile server's own tool. */
export const TAKE = tool("take", "Takes.");

export async function openWorld({ answers = {}, isSealed }: Shape) {
  const hostile = new RawServer({
    "tools/list": () => ({ tools: [TAKE] }),
    "tools/call": () => ({ content: [{ type: "text", text: "taken" }] }),
    ...answers,
  });
  const bank = new RawServer({
    "tools/list": () => ({ tools: [BANK.account, BANK.pay] }),
    "tools/call": ({ name }) => ({
      content: [{ type: "text", text: name === "pay" ? "paid" : SECRETS.value }],
    }),
    "resources/list": () => ({ resources: [{ uri: BANK.uri, name: "the bank's" }] }),
    "resources/templates/list": () => ({
      resourceTemplates: [{ uriTemplate: "bank://months/{month}", name: "the bank's" }],
    }),
    "resources/read": ({ uri }) => ({ contents: [{ uri, text: `the bank's ${String(uri)}` }] }),
    "prompts/list": () => ({ prompts: [{ name: "letter", description: "the bank's" }] }),
    "prompts/get": () => ({
      messages: [{ role: "user", content: { type: "text", text: "Dear" } }],
    }),
  });
  const headers = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const addressOf = (name: "hostile" | "bank") => ({
    url: `https://${name}.example/mcp`,
    headers: headers(SECRETS[name]),
  });
  const rules = isSealed === true ? { tools: { get_account: { sealed: true } } } : {};
  const gateway = await startGateway(
    [
      { name: "hostile", make: () => hostile, address: addressOf("hostile") },
      { name: "bank", make: () => bank, address: addressOf("bank"), rules },
    ],
    { onAsked: () => "accept", capabilities: { sampling: {}, roots: {} } },
  );
  gateway.client.setRequestHandler("sampling/createMessage", () => ({
    model: "m",
    role: "assistant",
    content: { type: "text", text: "As you like." },
  }));
  gateway.client.setRequestHandler("roots/list", () => ({ roots: [] }));
  const nameOf = async (description: string) => {
    const { tools } = await gateway.client.listTools();
    const found = tools.find((one) => one.description === description);
    if (found === undefined) throw new Error(`Nobody offers ${description}`);
    return found.name;
  };
  return {
    ...gateway,
    hostile,
    bank,
    /** Calls the bank's tool `pay` by the name that the gateway shows. */
    pay: async (text: string) => gateway.call(await nameOf(BANK.pay.description), { text }),
    account: async () => gateway.call(await nameOf(BANK.account.description)),
    take: (input: Record<string, unknown> = {}) => gateway.call("take", input),
  };
}

/** Uses every feature of the bank. Rejects if one fails. */
export async function useBank(world: HostileWorld): Promise<void> {
  const { client, bank } = world;
  const account = await world.account();
  const name = nameIn(account);
  const paid = await world.pay(`$${name}`);
  if (paid.isError === true) throw new Error(`It was not paid: ${textIn(paid)}`);
  const last: unknown = inputsOf(bank).at(-1);
  if (JSON.stringify(last) !== JSON.stringify({ text: SECRETS.value })) {
    throw new Error(`Another input was paid: ${JSON.stringify(last)}`);
  }
  const { resources } = await client.listResources();
  const uri = resources.find((one) => one.name === "the bank's")?.uri ?? "";
  const { resourceTemplates } = await client.listResourceTemplates();
  const template = resourceTemplates.find((one) => one.name === "the bank's")?.uriTemplate ?? "";
  for (const address of [uri, template.replace("{month}", "june")]) {
    const read = JSON.stringify(await client.readResource({ uri: address }));
    if (!read.includes("the bank's bank://")) throw new Error(`It read ${read}`);
  }
  const { prompts } = await client.listPrompts();
  const letter = prompts.find(({ description }) => description === "the bank's")?.name ?? "";
  const got = JSON.stringify(await client.getPrompt({ name: letter }));
  if (!got.includes("Dear")) throw new Error(`It got ${got}`);
}

/** The inputs of all calls that a server received. */
function inputsOf({ received }: RawServer): readonly unknown[] {
  return received.flatMap((message) =>
    "method" in message && message.method === "tools/call" && isObject(message.params)
      ? [message.params.arguments]
      : [],
  );
}

/** Returns the secrets that a party received and must not have. */
export function leaksOf(
  world: HostileWorld,
  { isTaken = false, isSealed = false, isForBank = false } = {},
) {
  const { hostile, bank, sent, log } = world;
  const all = Object.values(SECRETS);
  const forbidden: Readonly<Record<string, readonly [unknown, readonly string[]]>> = {
    hostile: [hostile.received, all.filter((one) => !(isTaken && one === SECRETS.value))],
    bank: [
      bank.received,
      all.filter((one) => one !== SECRETS.value && !(isForBank && one === SECRETS.client)),
    ],
    client: [sent, [SECRETS.bank, SECRETS.hostile, ...(isSealed ? [SECRETS.value] : [])]],
    log: [log, all],
  };
  return Object.entries(forbidden).flatMap(([who, [received, secrets]]) => {
    const text = JSON.stringify(received);
    return secrets
      .filter((secret) => formsOf(secret).some((form) => text.includes(form)))
      .map((secret) => `${who}: ${secret}`);
  });
}

/** Forms of a secret: plain, in a URL, in JSON, and in JSON inside JSON. */
function formsOf(secret: string): readonly string[] {
  const written = (text: string) => JSON.stringify(text).slice(1, -1);
  return [secret, encodeURIComponent(secret), written(secret), written(written(secret))];
}
