import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { expandText, lookupIn } from "../../src/references.ts";

const long = "😀".repeat(limits.maxPieceChars * 2);

describe("expandText in a Worker", () => {
  it("works in a pipe of the platform's own streams", async () => {
    const { body } = new Response("It is $w.temp°F, \n$w\n");
    const expanded = body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(expandText(lookupIn({ w: { temp: 72 } })))
      .pipeThrough(new TextEncoderStream());
    const text = await new Response(expanded).text();
    expect(text).toBe('It is 72°F, \n\n```json\n{\n  "temp": 72\n}\n```\n\n');
  });

  it("accepts no more input until a long value has been read, slice by slice", async () => {
    const { readable, writable } = expandText(lookupIn({ long }));
    const writer = writable.getWriter();
    let isTaken = false;
    const writing = writer.write("$long,").then(() => {
      isTaken = true;
    });
    const reader = readable.getReader();
    const first = await reader.read();
    expect(first.value?.length).toBeLessThanOrEqual(limits.maxPieceChars);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isTaken).toBe(false);
    let text = first.value ?? "";
    const closing = writer.close();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    await Promise.all([writing, closing]);
    expect([isTaken, text === `${long},`]).toEqual([true, true]);
  });

  it("rejects writes after its reader has gone", async () => {
    const { readable, writable } = expandText(lookupIn({ long }));
    const writer = writable.getWriter();
    await readable.cancel("gone");
    await expect(writer.write("x")).rejects.toBe("gone");
  });
});
