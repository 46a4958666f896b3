import { type CallToolResult, type Client, specTypeSchemas } from "@modelcontextprotocol/client";
import type { Tool } from "@modelcontextprotocol/server";
import * as limits from "./gateway-limits.ts";

/** The library's function that sends a request. */
type RequestTiming = Parameters<Client["callTool"]>[1] & object;

/** True for a tool that its server runs only as a task, a feature of 2025-11-25. */
export function isTask({ execution }: Pick<Tool, "execution">): boolean {
  return execution?.taskSupport === "required";
}

/**
 * Starts the task and waits for its result: the client of the gateway makes a call like any other. Cancels the
 * task with the call.
 */
export async function callAsTask(
  client: Client,
  params: Readonly<Record<string, unknown>>,
  timing: RequestTiming,
): Promise<CallToolResult> {
  const task = { ttl: limits.maxGatewayCallMs };
  const starting = { method: "tools/call", params: { ...params, task } };
  const started = await client.request(starting, specTypeSchemas.CreateTaskResult, timing);
  const { taskId } = started.task;
  try {
    const ending = { method: "tasks/result", params: { taskId } };
    return await client.request(ending, specTypeSchemas.CallToolResult, timing);
  } catch (error) {
    const cancelling = { method: "tasks/cancel", params: { taskId } };
    void client.request(cancelling, specTypeSchemas.CancelTaskResult).catch(() => undefined);
    throw error;
  }
}
