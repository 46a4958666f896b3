import { InMemoryTransport, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MessageBuffer, ProgramTransport } from "../src/cli/program-transport.ts";
import { maxGatewayMessageBytes } from "../src/gateway-limits.ts";
import { ByrefError } from "../../../src/errors.ts";
import { startGateway } from "../../../test/support/gateway.ts";

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

it.each(["/no/such/folder", import.meta.filename])(
  "a program whose cwd is %s names it, not the program",
  async (cwd) => {
    const transport = new ProgramTransport({ command: process.execPath, args: [], cwd });
    await expect(transport.start()).rejects.toThrow(`Its "cwd" is no folder: ${cwd}`);
  },
);

it("a program that has ended, and one that does not exist, are closed at once", async () => {
  const ended = new ProgramTransport({ command: process.execPath, args: ["-e", ""] });
  const closed = new Promise<void>((resolve) => {
    ended.onclose = resolve;
  });
  await ended.start();
  await closed;
  await ended.close();
  const missing = new ProgramTransport({ command: "/no/such/program", args: [] });
  await expect(missing.start()).rejects.toThrow("ENOENT");
  await missing.close();
});

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

  // modelcontextprotocol/typescript-sdk#2790.
  it("are read after a byte order mark", () => {
    const buffer = new MessageBuffer();
    buffer.append(Buffer.from('\uFEFF{"jsonrpc":"2.0","id":1,"result":{}}\r\n'));
    expect(buffer.readMessage()).toMatchObject({ id: 1 });
  });

  it("keep the digits of numbers in values, and nowhere else", () => {
    const read = (line: string) => {
      const buffer = new MessageBuffer();
      buffer.append(Buffer.from(`${line}\n`));
      return JSON.stringify(buffer.readMessage());
    };
    for (const line of [
      '{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"id":1234567890123456789,"far":1e400}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"id":-9223372036854775808}}}',
      '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a/id":1234567890123456789},"content":[]}}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":7,"a/id":1234567890123456789}}}',
    ]) {
      expect(read(line)).toBe(line);
    }
    // The library compiles schemas.
    const list = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"maximum":9223372036854775807}]}}';
    expect(read(list)).toBe(JSON.stringify(JSON.parse(list)));
  });

  it("are not held beyond the limit", () => {
    const buffer = new MessageBuffer();
    const half = Buffer.alloc(maxGatewayMessageBytes / 2, "x");
    buffer.append(half);
    buffer.append(half);
    expect(() => buffer.append(Buffer.from("x"))).toThrow("A message has more than");
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
