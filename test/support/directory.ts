import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { type Call, callWith, json, newId } from "./edge.ts";

export interface Listed {
  readonly id: string;
  readonly title: string | null;
  readonly status: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

type List = { readonly conversations: readonly Listed[]; readonly next?: string };

export interface Tenant {
  readonly name: string;
  readonly call: Call;
  list(query?: string): Promise<List>;
  ids(): Promise<readonly string[]>;
  ask(id: string, message: string): Promise<void>;
  put(id: string, value: string): Promise<void>;
}

/** A tenant with its own conversation index, so that no other test changes its list. */
export function newTenant(): Tenant {
  const name = `tenant ${newId()}`;
  const key = `key-${newId()}`;
  const knocking = callWith({ AUTH: "bearer", API_KEYS: JSON.stringify({ [key]: name }) });
  const call: Call = (method, path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${key}`);
    return knocking(method, path, { ...init, headers });
  };
  const list = (query = "") => listOf(call, query);
  const expectOk = async (response: Response) => {
    const said = await response.text();
    expect(response.ok, said).toBe(true);
  };
  return {
    name,
    call,
    list,
    ids: async () => (await list()).conversations.map(({ id }) => id),
    ask: async (id, message) =>
      expectOk(await call("POST", `/conversations/${id}/messages`, json({ message }))),
    put: async (id, value) =>
      expectOk(await call("PUT", `/conversations/${id}/variables/a`, json(value))),
  };
}

export async function listOf(call: Call, query = ""): Promise<List> {
  const response = await call("GET", `/conversations${query}`);
  expect(response.status).toBe(200);
  return response.json<List>();
}

export function directoryOf(tenant: string) {
  const { DIRECTORY } = env;
  return DIRECTORY.get(DIRECTORY.idFromName(JSON.stringify([tenant, "directory"])));
}

/** Retries a check for up to 10 s, because notifications are not awaited. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { interval: 20 });
}

export const listedIs = (tenant: Tenant, id: string, expected: object) =>
  eventually(async () => {
    const { conversations } = await tenant.list();
    expect(conversations.find((one) => one.id === id)).toMatchObject(expected);
  });
