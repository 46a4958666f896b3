import { afterEach, describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";
import { RawServer } from "../../../test/support/raw-server.ts";
import { type Sending, startWireServer } from "../../../test/support/wire-server.ts";

const downs: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(downs.splice(0).map((down) => down()));
});

const TEXT = { content: [{ type: "text", text: "Done." }] };

/** Answers without their ids. The last has the right form, and a wrong result. */
const MALFORMED: readonly object[] = [
  { result: null },
  { result: "Done." },
  { result: ["Done."] },
  {},
  { error: "No" },
  { error: { code: "E_NO", message: "No" } },
  { error: { code: 1.5, message: "No" } },
  { error: { code: 1 } },
  { result: TEXT, error: { code: 1, message: "No" } },
  { result: TEXT, error: null },
  { result: TEXT, jsonrpc: "1.0" },
  { result: TEXT, took: 3 },
  { result: { content: [{ type: "image", data: "%" }] } },
];

function isOneSentence(text: string): boolean {
  return /^[^\n]{1,200}\.$/u.test(text) && !/zod|invalid_|issues|expected|\[\s*\{/iu.test(text);
}

describe.each<Sending>(["JSON", "a stream", "SSE"])("an answer by %s that is none", (sending) => {
  it("fails its call at once with a sentence, and the server stays usable", async () => {
    const left = MALFORMED.flatMap((answer) => [answer, { result: TEXT }]);
    const server = await startWireServer(sending, () => left.shift() ?? "cut");
    const { call, gateway } = await startGateway([server.behind]);
    downs.push(() => gateway.close(), server.down);
    for (const answer of MALFORMED) {
      const { isError, content } = await call("act");
      const text = textIn({ content });
      expect([isError, isOneSentence(text)], `${JSON.stringify(answer)}: ${text}`).toEqual([
        true,
        true,
      ]);
      expect(text).toMatch(/^tool_failed: Server shop: .*does not follow MCP/u);
      expect(await call("act")).toMatchObject(TEXT);
    }
  });
});

it.each<Sending>(["JSON", "a stream"])("an answer by %s with another id", async (sending) => {
  const error = { code: 4_711, message: "It broke.", data: { at: 7 } };
  const answers = [
    { id: "server-error", error },
    { id: null, error },
    { id: "other", result: TEXT },
  ];
  const server = await startWireServer(sending, () => answers.shift() ?? "cut");
  const { call, gateway } = await startGateway([server.behind]);
  downs.push(() => gateway.close(), server.down);
  for (const _id of ["server-error", null]) await expect(call("act")).rejects.toMatchObject(error);
  expect(textIn(await call("act"))).toBe(
    "tool_failed: Server shop: The answer does not follow MCP: it has another id than the request.",
  );
});

it("a malformed list or greeting is a sentence in the log and the status", async () => {
  for (const method of ["initialize", "tools/list", "prompts/list"] as const) {
    const raw = new RawServer({ [method]: () => ({ tools: "x", prompts: "x", capabilities: 7 }) });
    const { client, gateway, log } = await startGateway([{ name: "raw", make: () => raw }]);
    await client.listTools();
    await client.listPrompts();
    expect(log.join("\n"), method).toContain("does not follow MCP");
    for (const line of log) expect(isOneSentence(line), line).toBe(true);
    for (const { why = "Fine." } of gateway.status) expect(isOneSentence(why), why).toBe(true);
  }
});
