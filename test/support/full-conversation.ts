import { tool } from "ai";
import * as z from "zod";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import * as limits from "../../src/limits.ts";
import { capabilityWorkflows } from "../../packages/plan-formats/src/capability/capability-workflows.ts";
import { templates } from "../../packages/plan-formats/src/template/templates.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { History } from "../../src/turn/history/history.ts";
import { EventLog } from "../../src/turn/log/event-log.ts";
import type { WatchedSql } from "../store/watched-sql.ts";
import { NodeRuntime } from "./node-runtime.ts";
import { finish, scriptedModel, text } from "byref/testing";

/** Number of variables in `full`, besides the three of 15 MB. */
export const SMALL_VARIABLES = 1_050;

const echo = tool({ inputSchema: z.object({}).loose(), execute: () => "ok" });

/** A runtime with the conversation `full`, whose values, inputs, messages and events are near their limits. */
export async function fullConversation(): Promise<NodeRuntime> {
  const step = [text("Done."), finish()];
  const runtime = new NodeRuntime({
    agents: [
      { name: "a", description: "", instructions: "", tools: { echo }, approvesPlan: () => true },
    ],
    model: scriptedModel(Array.from({ length: 100 }, () => step)),
    plans: planSupport(templates, capabilityWorkflows),
    transfer: transfers,
  });
  const { sql } = runtime.objectOf("full");
  migrate(sql, Date.now());
  await fillStore(sql);
  fillLogs(sql);
  // Turns that were never in a prompt are read once, for the outline.
  await runtime.ask("POST", "/conversations/full/messages", {
    headers: { "content-type": "application/json", accept: "application/json" },
    body: '{"message":"x"}',
  });
  return runtime;
}

async function fillStore(sql: WatchedSql): Promise<void> {
  const store = new SqlStore(sql);
  for (const name of ["a", "b", "c"]) {
    await store.save({ name, value: { x: name.repeat(15_000_000), y: 1 } });
  }
  for (let n = 0; n < SMALL_VARIABLES; n++) {
    const written = "i".repeat(n < 50 ? limits.maxRecordBytes - 1_000 : 4_000);
    await store.save({ name: `made_${n}`, value: n, tool: "t", input: { written } });
  }
}

function fillLogs(sql: WatchedSql): void {
  const events = new EventLog(sql);
  for (let n = 1; n <= limits.maxEntries; n++) {
    events.add({ type: "tool.called", tool: "t".repeat(300), toolCallId: "c".repeat(300) });
    if (n % 500 === 0) events.flush();
  }
  const history = new History(sql);
  for (let n = 0; n < 300; n++) {
    const said = "m".repeat(n < 20 ? limits.maxMessageBytes / 2 : 300);
    history.add({
      id: `m${n}`,
      role: n % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: said }],
      createdAt: new Date(n * 1_000).toISOString(),
    });
  }
}
