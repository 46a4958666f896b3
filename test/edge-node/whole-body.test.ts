import { describe, expect, it } from "vitest";
import { pieceReader, untilEnd } from "../../src/edge/http/client-body.ts";

const END = crypto.randomUUID();
const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7 + (index >> 8)) % 256);

/** Creates a request with the bytes and the end mark, cut into pieces of this length. */
function sent(length: number, end: string, type?: "bytes"): Request {
  const all = Buffer.concat([bytes, Buffer.from(end)]);
  let at = 0;
  const next = () => Uint8Array.from(all.subarray(at, (at += length)));
  const body =
    type === undefined
      ? new ReadableStream<Uint8Array>({
          pull: (controller) => (at < all.length ? controller.enqueue(next()) : controller.close()),
        })
      : new ReadableStream({
          type,
          pull(controller) {
            if (at < all.length) return controller.enqueue(next());
            controller.close();
            controller.byobRequest?.respond(0);
          },
        });
  const request = new Request("http://o/", { headers: { "x-byref-end": END } });
  // Node's own streams of a body are not byte streams.
  Object.defineProperty(request, "body", { value: body });
  return request;
}

async function taken(request: Request): Promise<Buffer> {
  const pieces: Buffer[] = [];
  // Copied at once, because the next piece may reuse the memory.
  for await (const piece of untilEnd(request, new AbortController().signal))
    pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

describe.each([undefined, "bytes"] as const)("a body in a stream of type %s", (type) => {
  it.each([1_000, 36, 35, 37, 65_536, 300_000])(
    "is read without its end mark, in pieces of %i",
    async (length) => {
      expect(Buffer.compare(await taken(sent(length, END, type)), bytes)).toBe(0);
    },
  );

  it.each(["", END.slice(1), `${END} `])("is refused if its end mark is %j", async (end) => {
    await expect(taken(sent(1_000, end, type))).rejects.toMatchObject({ code: "bad_request" });
  });
});

describe("a reader of pieces", () => {
  it("does not change memory of the stream", async () => {
    const own = new Uint8Array(100).fill(1);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(own.subarray(50));
        controller.close();
      },
    });
    const { value } = await pieceReader(body, 36).read();
    expect(value?.byteOffset).toBe(36);
    new Uint8Array(value?.buffer ?? new ArrayBuffer()).fill(2);
    expect([...own]).toEqual(Array.from({ length: 100 }, () => 1));
  });

  it("reuses its memory for a byte stream", async () => {
    const body = sent(1_000, "", "bytes").body ?? new ReadableStream();
    const reader = pieceReader(body, 36);
    const first = (await reader.read()).value;
    expect(first?.byteOffset).toBe(36);
    const size = first?.buffer.byteLength;
    const second = (await reader.read()).value;
    expect([first?.length, second?.buffer.byteLength]).toEqual([0, size]);
  });
});
