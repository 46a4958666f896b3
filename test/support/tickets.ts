import { expect } from "vitest";
import { callWith, json, newId } from "./edge.ts";

export const [ALICE, BOB] = ["alice-key-0123456789", "bob-key-9876543210"];
export const KEYS = {
  AUTH: "bearer",
  API_KEYS: JSON.stringify({ [ALICE]: "alice", [BOB]: "bob/ü" }),
};
export const call = callWith(KEYS);
export const as = (key: string) => ({ authorization: `Bearer ${key}` });

type Ticket = { readonly ticket: string };

export async function ticketFor(path: string, key = ALICE, through = call): Promise<string> {
  const [, , id] = path.split("/");
  const response = await through("POST", `/conversations/${id}/tickets`, json({ path }, as(key)));
  expect(response.status).toBe(201);
  const { ticket, ...more } = await response.json<Ticket>();
  expect(more).toEqual({});
  expect(ticket).toMatch(/^[\w.-]+$/);
  return ticket;
}

/** Saves a value for Alice, unless given another key, and returns its path. */
export async function newValue(body: unknown = "alice's", key = ALICE): Promise<string> {
  const path = `/conversations/${newId()}/variables/photo`;
  expect((await call("PUT", path, json(body, as(key)))).status).toBe(201);
  return path;
}
