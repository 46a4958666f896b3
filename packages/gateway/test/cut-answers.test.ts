import { afterEach, describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";
import { slow } from "../../../test/support/slow.ts";
import {
  type Cut,
  type Sending,
  startWireServer,
  type WireAnswer,
} from "../../../test/support/wire-server.ts";

const downs: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(downs.splice(0).map((down) => down()));
});

async function started(sending: Sending, answer: WireAnswer) {
  const server = await startWireServer(sending, answer);
  const gateway = await startGateway([server.behind]);
  downs.push(() => gateway.gateway.close(), server.down);
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
