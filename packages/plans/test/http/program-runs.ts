import { tool } from "ai";
import { expect } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import type { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { programRunList, programRunView } from "../../src/http/program-schemas.ts";

type Asked = Pick<NodeRuntime, "ask">;

/** Adds up the sums of rows. */
export const total = tool({
  inputSchema: z.object({ rows: z.array(z.object({ sum: z.number() })) }),
  execute: ({ rows }) => ({ sum: rows.reduce((all, row) => all + row.sum, 0) }),
});

/** Returns the runs in a program's list, newest first. */
export async function runsOf({ ask }: Asked, name = "p", headers: Record<string, string> = {}) {
  const response = await ask("GET", `/programs/${name}/runs`, { headers });
  return programRunList().parse(await response.json()).runs;
}

/** Returns the run that a response shows. */
export async function viewIn(response: Response) {
  expect(response.status, await response.clone().text()).toBe(200);
  return programRunView().parse(await response.json());
}

/** Runs a program until it ends or waits. */
export const ran = async ({ ask }: Asked, name: string, init?: RequestInit) =>
  viewIn(await ask("POST", `/programs/${name}/runs`, init));

/** Reads a run. */
export const look = async ({ ask }: Asked, name: string, id: string | undefined) =>
  viewIn(await ask("GET", `/programs/${name}/runs/${id}`));

/** Approves what a run in this conversation waits for. */
export async function approve({ ask }: Asked, conversation: string | undefined, gate = "") {
  const at = `/conversations/${conversation}/approvals/${gate}`;
  await (await ask("POST", at, json({ approved: true }))).text();
}
