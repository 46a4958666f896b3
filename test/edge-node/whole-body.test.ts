import { describe, expect, it } from "vitest";
import { untilEnd } from "../../src/edge/http/client-body.ts";

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
    "is read whole, in pieces of %i",
    async (length) => {
      expect(Buffer.compare(await taken(sent(length, END, type)), bytes)).toBe(0);
    },
  );

  it.each(["", END.slice(1), `${END} `])("is refused if its end mark is %j", async (end) => {
    await expect(taken(sent(1_000, end, type))).rejects.toMatchObject({ code: "bad_request" });
  });
});
