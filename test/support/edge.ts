import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { expect } from "vitest";
import { type ErrorCode, errorCodes } from "../../src/errors.ts";
import worker from "../../src/index.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";

export const ORIGIN = "http://localhost";

export type Call = (method: string, path: string, init?: RequestInit) => Promise<Response>;

/** Sends a request to the Worker, with only these settings. */
export function callWith(settings: Readonly<Record<string, string>>): Call {
  return async (method, path, init = {}) => {
    const url = path.includes("://") ? path : `${ORIGIN}${path}`;
    const request = new Request(url, { ...init, method });
    return worker.fetch(request, { ...env, ...settings }, createExecutionContext());
  };
}

/** Sends a request from this machine, without a key. */
export const call = callWith({ AUTH: "none" });

/** Id of a new conversation. */
export const newId = (): string => crypto.randomUUID();

/** The Durable Object of a conversation. */
export function objectOf(id: string, tenant = "local") {
  const { CONVERSATIONS } = env;
  return CONVERSATIONS.get(CONVERSATIONS.idFromName(JSON.stringify([tenant, id])));
}

/** A JSON body with its content type. */
export function json(body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return {
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  };
}

export interface TurnJson {
  readonly message: UIMessage;
  readonly variables: readonly VariableInfo[];
  readonly usage: Readonly<Record<string, number>>;
  readonly savings: Readonly<Record<string, number>>;
  readonly cost: Readonly<Record<string, number>>;
}

/** Runs a turn over the short route, and returns it as JSON. */
export async function ask(id: string, message: unknown, more: object = {}): Promise<TurnJson> {
  const init = json({ message, ...more }, { accept: "application/json" });
  const response = await call("POST", `/conversations/${id}/messages`, init);
  expect(response.status).toBe(200);
  return response.json<TurnJson>();
}

/** Returns the text of a message, without tools. */
export function textOf(message: UIMessage | undefined): string {
  const parts = message?.parts ?? [];
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

export type MessagePage = { readonly messages: readonly UIMessage[]; readonly next?: string };

export async function messagesOf(id: string, query = ""): Promise<MessagePage> {
  const response = await call("GET", `/conversations/${id}/messages${query}`);
  expect(response.status).toBe(200);
  return response.json<MessagePage>();
}

/** Puts a value as JSON. `at`: the name, optionally with a query. */
export async function put(id: string, at: string, value: Json): Promise<VariableInfo> {
  const response = await call("PUT", `/conversations/${id}/variables/${at}`, json(value));
  expect([200, 201]).toContain(response.status);
  return response.json<VariableInfo>();
}

/** Reads a variable. `at`: the name, optionally with `/info` or a query. */
export function get(id: string, at: string): Promise<Response> {
  return call("GET", `/conversations/${id}/variables/${at}`);
}

/** Returns the names in a list of variables, in its order. */
export async function namesIn(id: string, query = ""): Promise<readonly string[]> {
  const response = await call("GET", `/conversations/${id}/variables${query}`);
  expect(response.status).toBe(200);
  const { variables } = await response.json<{ variables: readonly VariableInfo[] }>();
  return variables.map(({ name }) => name);
}

interface Problem extends Readonly<Record<string, unknown>> {
  readonly detail: string;
}

/** Requires a problem document with this code, and returns it. */
export async function problemIn(response: Response, code: ErrorCode): Promise<Problem> {
  const body = await response.json<Problem>();
  const { status, title } = errorCodes[code];
  expect(body).toMatchObject({ type: `urn:byref:${code}`, title, status, code });
  expect(body.detail).toMatch(/\S/);
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return body;
}

/** Requires that an invalid token is rejected. */
export function keptOut(response: Response): Promise<Problem> {
  return problemIn(response, "unauthorized");
}
