import { expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";

it("a sealed value that is replaced while it is read is still treated as sealed", async () => {
  const store = new MemoryStore();
  await store.save({ name: "v", value: "https://a.example/?sealed", visibility: "sealed" });
  const read = store.readPath.bind(store);
  store.readPath = async (name, path) => {
    const reading = await read(name, path);
    await store.save({ name: "v", value: "open", visibility: "model" });
    return reading;
  };
  const found = await lookupInStore(store)({ name: "v", path: [] });
  expect(found).toMatchObject({ value: "https://a.example/?sealed", inert: true });
});
