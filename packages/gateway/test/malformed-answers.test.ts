import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";
import { slow } from "../../../test/support/slow.ts";
import {
  type Cut,
  type Sending,
  startWireServer,
  type WireAnswer,
} from "../../../test/support/wire-server.ts";
import { RawServer, toolServer } from "../../../test/support/raw-server.ts";
import { InMemoryTransport, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";

/** Starts a gateway in front of a server that answers like this. Both end with the test. */
async function started(sending: Sending, answer: WireAnswer) {
  const server = await startWireServer(sending, answer);
  const gateway = await startGateway([server.behind]);
  onTestFinished(async () => {
    await gateway.gateway.close();
    await server.down();
  });
  return { ...gateway, received: server.received };
}

const TEXT = { content: [{ type: "text", text: "Done." }] };

describe.each<[Sending, Cut]>([
  ["a stream", "cut"],
  ["a stream", "end"],
  ["a stream with ids", "end"],
  ["JSON", "cut"],
  ["SSE", "cut"],
  ["SSE", "end"],
])("an answer by %s that is %s", (sending, cut) => {
  // A new connection comes after a pause, as does the attempt to resume a stream.
  const options = sending === "SSE" || sending === "a stream with ids" ? slow : {};

  it("fails the call at once, whose outcome is unknown, and is not repeated", options, async () => {
    const { call, received } = await started(sending, () => cut);
    const result = await call("act");
    expect(result.isError).toBe(true);
    expect(textIn(result)).toMatch(/^outcome_unknown: Server shop gave no answer, while act ran/u);
    expect(received.filter((method) => method === "tools/call")).toHaveLength(1);
  });

  it("is asked for once more if its tool only reads", options, async () => {
    const answers: (object | Cut)[] = [cut, { result: TEXT }];
    const { call, received } = await started(sending, () => answers.shift() ?? cut);
    expect(await call("look")).toMatchObject(TEXT);
    expect(received.filter((method) => method === "tools/call")).toHaveLength(2);
  });

  it("is asked for only once more", slow, async () => {
    const { call, received } = await started(sending, () => cut);
    const result = await call("look");
    expect(textIn(result)).toMatch(/^(?:tool_failed|server_unavailable): /u);
    expect(received.filter((method) => method === "tools/call")).toHaveLength(2);
  });

  it("is asked for once more if it is that of a resource", options, async () => {
    const read = { result: { contents: [{ uri: "test://page", text: "a page" }] } };
    const answers: (object | Cut)[] = [cut, read];
    const { client } = await started(sending, () => answers.shift() ?? cut);
    expect(await client.readResource({ uri: "test://page" })).toMatchObject(read.result);
  });
});

/** Answers without their ids. The last two have the right form, and a wrong result. */
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
  { result: { content: "Done." } },
  { result: { content: [{ type: "text" }] } },
];

function isOneSentence(text: string): boolean {
  return /^[^\n]{1,200}\.$/u.test(text) && !/zod|invalid_|issues|expected|\[\s*\{/iu.test(text);
}

describe.each<Sending>(["JSON", "a stream", "SSE"])("an answer by %s that is none", (sending) => {
  it("fails its call at once with a sentence, and the server stays usable", async () => {
    const left = MALFORMED.flatMap((answer) => [answer, { result: TEXT }]);
    const { call } = await started(sending, () => left.shift() ?? "cut");
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

  it("fails prompts, resources and completions in the same way", async () => {
    const answers = [{ result: null }, { result: "x" }, { result: { messages: 1, contents: 1 } }];
    for (const answer of answers) {
      const { client } = await started(sending, () => answer);
      const reasons = await Promise.all(
        [
          client.getPrompt({ name: "greet" }),
          client.readResource({ uri: "test://page" }),
          client.complete({
            ref: { type: "ref/prompt", name: "greet" },
            argument: { name: "a", value: "b" },
          }),
        ].map((asked) => asked.catch((error: unknown) => String(error))),
      );
      for (const reason of reasons) {
        expect(reason).toEqual(expect.stringContaining("does not follow MCP"));
        expect(isOneSentence(String(reason)), String(reason)).toBe(true);
      }
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
  const { call } = await started(sending, () => answers.shift() ?? "cut");
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

const make = () =>
  toolServer(["ping", "leave", "wait"], ({ name }, wire) =>
    name === "leave" ? wire.close() : { content: [{ type: "text", text: "pong" }] },
  );

it("a connection that was lost is opened again by the next call, without a pause", async () => {
  const { call } = await startGateway([{ name: "shop", make }]);
  expect((await call("leave")).isError).toBe(true);
  expect(textIn(await call("ping"))).toBe("pong");
});

it("a failure of an earlier connection does not end the next one", async () => {
  let fail: ((error: Error) => void) | undefined;
  let opened = 0;
  const open = () => {
    const isFirst = ++opened === 1;
    const [near, far] = InMemoryTransport.createLinkedPair();
    void make().connect(far);
    const send = near.send.bind(near);
    near.send = async (message, options) => {
      const name = "method" in message && message.params?.name;
      if (!isFirst || typeof name !== "string") return send(message, options);
      if (name === "wait") return new Promise<void>((_, reject) => (fail = reject));
      const unknown = { status: 404, statusText: "Not Found" };
      throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "No session", unknown);
    };
    return near;
  };
  const { call } = await startGateway([{ name: "shop", make, open }]);
  const waiting = call("wait");
  await vi.waitFor(() => expect(fail).toBeDefined());
  expect(textIn(await call("ping"))).toBe("pong");
  expect(opened).toBe(2);
  fail?.(new TypeError("fetch failed"));
  expect((await waiting).isError).toBe(true);
  expect(textIn(await call("ping"))).toBe("pong");
  expect(opened).toBe(2);
});
