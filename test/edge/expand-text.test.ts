import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { expandText, lookupIn } from "../../src/references.ts";

const long = "😀".repeat(limits.maxSliceChars * 2);

describe("expandText in a Worker", () => {
  it("accepts no more input until a long value has been read, slice by slice", async () => {
    const { readable, writable } = expandText(lookupIn({ long }));
    const writer = writable.getWriter();
    let isTaken = false;
    const writing = writer.write("$long,").then(() => {
      isTaken = true;
    });
    const reader = readable.getReader();
    const first = await reader.read();
    expect(first.value?.length).toBeLessThanOrEqual(limits.maxSliceChars);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isTaken).toBe(false);
    let text = first.value ?? "";
    const closing = writer.close();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    await Promise.all([writing, closing]);
    expect([isTaken, text === `${long},`]).toEqual([true, true]);
  });
});
