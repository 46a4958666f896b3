import { InMemoryTransport, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  MessageBuffer,
  ProgramTransport,
  readLongMessages,
} from "../../src/cli/program-transport.ts";
import { ByrefError } from "../../src/errors.ts";
import { maxGatewayMessageBytes } from "../../src/gateway/gateway-limits.ts";
import { startGateway } from "../support/gateway.ts";

afterEach(() => vi.restoreAllMocks());

/** Counts the bytes that are copied from one buffer to another. */
function countCopied() {
  const concat = Buffer.concat.bind(Buffer);
  const copied = { bytes: 0 };
  vi.spyOn(Buffer, "concat").mockImplementation((list, length) => {
    const joined = concat(list, length);
    copied.bytes += joined.length;
    return joined;
  });
  return copied;
}

const notification = (text: string) => ({ jsonrpc: "2.0", method: "x", params: { text } });

describe("messages of a program", () => {
  it("are read in linear time, by the transport of the library", async () => {
    const bytes = 4_000_000;
    const program = `console.log(JSON.stringify({ jsonrpc: "2.0", method: "x", params: { text: "x".repeat(${bytes}) } }))`;
    const transport = new ProgramTransport({ command: process.execPath, args: ["-e", program] });
    const copied = countCopied();
    const message = new Promise((resolve) => {
      transport.onmessage = resolve;
    });
    await transport.start();
    expect(JSON.stringify(await message).length).toBeGreaterThan(bytes);
    await transport.close();
    expect(copied.bytes).toBeGreaterThan(0);
    expect(copied.bytes).toBeLessThan(3 * bytes);
  });

  it("are read by the transport for clients in the same way", () => {
    const transport = new StdioServerTransport();
    expect(Reflect.has(transport, "_readBuffer")).toBe(true);
    readLongMessages(transport);
    expect(Reflect.get(transport, "_readBuffer")).toBeInstanceOf(MessageBuffer);
  });

  it("are the same wherever they are cut", () => {
    const chunks = fc.array(fc.nat({ max: 300 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 5 }), chunks, (texts, cuts) => {
        const messages = texts.map(notification);
        const lines = messages.map((one) => JSON.stringify(one)).join("\nno JSON\r\n");
        const all = Buffer.from(`${lines}\n`);
        const buffer = new MessageBuffer();
        const read: unknown[] = [];
        const ends = [...cuts, all.length].toSorted((one, other) => one - other);
        for (const [index, end] of ends.entries()) {
          buffer.append(all.subarray(ends[index - 1] ?? 0, end));
          for (let one = buffer.readMessage(); one !== null; one = buffer.readMessage())
            read.push(one);
        }
        expect(read).toEqual(messages);
      }),
    );
  });

  it("have a maximum size, also after others", () => {
    const buffer = new MessageBuffer();
    const chunk = Buffer.alloc(8_388_608, " ");
    const fill = () => {
      for (let bytes = 0; bytes <= maxGatewayMessageBytes; bytes += chunk.length)
        buffer.append(chunk);
    };
    expect(fill).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
    buffer.append(Buffer.from(`${JSON.stringify(notification("x"))}\n`));
    expect(buffer.readMessage()).toEqual(notification("x"));
    expect(fill).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  });

  it("that are too long fail the call with the reason, and the server is used again", async () => {
    let near: Transport | undefined;
    let calls = 0;
    const open = () => {
      const [mine, far] = InMemoryTransport.createLinkedPair();
      const server = new McpServer({ name: "s", version: "1" });
      server.registerTool("act", {}, async () => {
        if (calls++ > 0) return { content: [{ type: "text", text: "Done." }] };
        near?.onerror?.(new ByrefError("limit_exceeded", "A message has more than 5 bytes."));
        await near?.close();
        return new Promise(() => undefined);
      });
      void server.connect(far);
      return (near = mine);
    };
    const { call, log } = await startGateway([
      { name: "s", make: () => new McpServer({ name: "s", version: "1" }), open },
    ]);
    const { content, isError } = await call("act");
    expect([isError, JSON.stringify(content)]).toEqual([
      true,
      expect.stringContaining("limit_exceeded: Server s: A message has more than 5 bytes."),
    ]);
    expect(log.join("\n")).toContain("Server s: A message has more than 5 bytes.");
    await vi.waitFor(async () => expect((await call("act")).isError).not.toBe(true), 10_000);
  });
});
