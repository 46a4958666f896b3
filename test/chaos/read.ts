import type { Tombstone, VariableInfo } from "../../src/store/variable.ts";
import type { ConversationModel, Look } from "./conversation-model.ts";
import type { Seen } from "./model.ts";
import { digestOf } from "./values.ts";

/** Reads a whole value with a plain GET. Rejects if the response breaks off. */
export async function readVariable(conversationUrl: string, name: string): Promise<Seen> {
  const fromMs = Date.now();
  const response = await fetch(`${conversationUrl}/variables/${name}`);
  const bytes = await response.bytes();
  const span = { fromMs, toMs: Date.now() };
  const { status } = response;
  if (status === 200) {
    const version = Number(/^"(\d+)-/.exec(response.headers.get("etag") ?? "")?.[1]);
    return { ...span, status, digest: digestOf(bytes), version };
  }
  const { tombstone } = JSON.parse(new TextDecoder().decode(bytes)) as { tombstone?: Tombstone };
  return { ...span, status, ...(tombstone === undefined ? {} : { tombstone }) };
}

/** Reads the list of a conversation and every variable in it or in the model. */
export async function lookAt(url: string, model: ConversationModel): Promise<Look> {
  const conversationUrl = `${url}/conversations/${model.id}`;
  const { status } = await fetch(conversationUrl);
  const fromMs = Date.now();
  const listed = new Map((await list(conversationUrl)).map((info) => [info.name, info]));
  const variables = new Map<string, Seen>();
  for (const name of new Set([...model.names, ...listed.keys()])) {
    const seen = await readVariable(conversationUrl, name);
    const info = listed.get(name);
    variables.set(name, info === undefined ? seen : withInfo({ ...seen, fromMs }, info));
  }
  return { status, variables };
}

/** Adds the list's entry, except to a variable that has expired since the list was read. */
function withInfo(seen: Seen, info: VariableInfo): Seen {
  if (seen.status === 410) return seen;
  return { ...seen, info };
}

async function list(conversationUrl: string): Promise<readonly VariableInfo[]> {
  const response = await fetch(`${conversationUrl}/variables`);
  const { variables, next } = (await response.json()) as {
    variables: readonly VariableInfo[];
    next?: number;
  };
  if (!response.ok || next !== undefined) throw new Error(`The list answers ${response.status}.`);
  return variables;
}
