import { expect } from "vitest";
import type { VariableInfo } from "../../src/store/variable.ts";
import { type Call, call, json } from "./edge.ts";

/** One line of an export. */
export type Line = Readonly<Record<string, unknown>> & { readonly type: string };

const utf8 = new TextEncoder();

export async function exportOf(id: string, by: Call = call): Promise<string> {
  const response = await by("GET", `/conversations/${id}/export`);
  expect(response.status).toBe(200);
  return new TextDecoder().decode(await response.arrayBuffer());
}

export function linesIn(file: string): readonly Line[] {
  const lines = file.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Line);
}

/** Returns a file of these lines with a matching end line. */
export async function fileOf(lines: readonly Line[]): Promise<string> {
  const before = lines.filter(({ type }) => type !== "end");
  const text = before.map((line) => `${JSON.stringify(line)}\n`).join("");
  const sha256 = hexOf(await crypto.subtle.digest("SHA-256", utf8.encode(text)));
  const end = { type: "end", records: before.length, sha256 };
  return `${text}${JSON.stringify(end)}\n`;
}

/** Returns the file with `change` applied to each line of this type. */
export function changed(file: string, type: string, change: (line: Line) => Line): Promise<string> {
  const lines = linesIn(file).map((line) => (line.type === type ? change(line) : line));
  return fileOf(lines);
}

/** Imports a file whose word counts: the objects of these tests have no secret to seal files with. */
export function importFile(file: BodyInit, query = "", by: Call = call): Promise<Response> {
  const labels = `${query === "" ? "?" : "&"}labels=keep`;
  return by("POST", `/conversations/import${query}${labels}`, { body: file });
}

export async function imported(file: BodyInit, query = ""): Promise<string> {
  const response = await importFile(file, query);
  const body = await response.json<{ readonly id: string }>();
  expect([response.status, body]).toEqual([201, { id: body.id }]);
  return body.id;
}

export async function fork(id: string, body: object = {}): Promise<string> {
  const response = await call("POST", `/conversations/${id}/fork`, json(body));
  const answer = await response.json<{ readonly id: string }>();
  expect([response.status, answer]).toEqual([201, { id: answer.id }]);
  return answer.id;
}

export async function remove(id: string): Promise<void> {
  expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
}

/** Returns everything visible of a conversation, with digests of its values, but without access times. */
export async function allOf(id: string) {
  const read = async (path: string) => (await call("GET", `/conversations/${id}${path}`)).json();
  const { variables } = (await read("/variables")) as { variables: VariableInfo[] };
  const values: Record<string, unknown> = {};
  for (const { name } of variables) {
    values[name] = await digestOf(await call("GET", `/conversations/${id}/variables/${name}`));
  }
  return {
    about: await read(""),
    display: await read("/messages?form=display"),
    reference: await read("/messages?form=reference"),
    variables: variables.map((info) => ({ ...info, accessedAt: "" })),
    values,
    plans: await plansOf(id),
    events: await read("/events"),
  };
}

/** A digest, because comparing megabytes number by number is slow. */
async function digestOf(response: Response): Promise<string> {
  return hexOf(await crypto.subtle.digest("SHA-256", await response.arrayBuffer()));
}

function hexOf(digest: ArrayBuffer): string {
  const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return bytes.join("");
}

async function plansOf(id: string): Promise<readonly unknown[]> {
  const listed = await call("GET", `/conversations/${id}/plans`);
  const { plans } = await listed.json<{ readonly plans: readonly { readonly id: string }[] }>();
  const reads = plans.map(async (plan) =>
    (await call("GET", `/conversations/${id}/plans/${plan.id}`)).json(),
  );
  return Promise.all(reads);
}
