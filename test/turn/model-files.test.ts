import { afterEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { fileChunk } from "../../src/turn/model/model-call.ts";

const url = new URL("https://files.example.com/a.png");
const part = { type: "file", mediaType: "image/png", data: { type: "url", url } } as const;

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Returns the chunk of a file whose server sends `body`. */
function chunkOf(body: BodyInit, signal = new AbortController().signal) {
  const asked = vi.fn<typeof fetch>(async (_url, init) => {
    init?.signal?.throwIfAborted();
    return new Response(body);
  });
  vi.stubGlobal("fetch", asked);
  return fileChunk(part, signal);
}

describe("a file that a model gives as a URL", () => {
  it("is fetched and embedded", async () => {
    const url = "data:image/png;base64,AQI=";
    const chunk = await chunkOf(new Uint8Array([1, 2]));
    expect(chunk).toEqual({ type: "file", mediaType: "image/png", url });
  });

  it("may be at most as large as a message", async () => {
    const largest = new Uint8Array(limits.maxMessageBytes);
    await expect(chunkOf(largest)).resolves.toMatchObject({ type: "file" });
    const tooLarge = new Uint8Array(limits.maxMessageBytes + 1);
    await expect(chunkOf(tooLarge)).rejects.toThrow("exceeded maximum size");
  });
});
