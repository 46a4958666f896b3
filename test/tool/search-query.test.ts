import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { Matcher } from "../../src/tool/variables/search-variable.ts";
import type { Json } from "../../src/value/json.ts";
import { Tools } from "../support/runtime-tool-context.ts";

async function search(text: string, input: Readonly<Record<string, Json>>): Promise<Json> {
  const store = new MemoryStore();
  await store.save({ name: "v", value: text });
  return new Tools(store).fields("search_variable", { name: "v", ...input });
}

describe("a query", () => {
  it("has at most 200 characters", async () => {
    const text = "a".repeat(300);
    expect(await search(text, { query: "a".repeat(200) })).toMatchObject({ total: 1 });
    await expect(search(text, { query: "a".repeat(201) })).rejects.toMatchObject({
      code: "invalid_tool_input",
    });
  });

  it("finds no half characters, and the right place after a letter that grows in lower case", () => {
    const find = (query: string, text: string) => {
      const found = new Matcher(query, false).find(text, 0);
      return found === undefined ? undefined : text.slice(found.start, found.end);
    };
    expect(find("\ud83d", "a😀b")).toBeUndefined();
    expect(find("\ude00", "a😀b")).toBeUndefined();
    // "İ" has two characters in lower case.
    expect(find("weather", "İİ: WEATHER today")).toBe("WEATHER");
  });
});
