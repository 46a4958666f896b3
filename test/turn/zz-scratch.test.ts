import { it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { toolOutput } from "../../src/tool/tool-output.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
it("nl", async () => {
  const store = new MemoryStore();
  for (const key of ["a\nb", "a\rb", "a\u2028b", "a\tb", "a\u0000b", "\ud800"]) {
  const value = { [key]: "x".repeat(3000) };
  const info = store.save({ name: "v", value });
  const out: any = toolOutput(info, value, []);
  console.log(JSON.stringify(out.try), (await resolveReferences(out.try[0] ?? "none", lookupInStore(store))).unresolved, ((await resolveReferences(out.try[0] ?? "none", lookupInStore(store))).value as any).length);
  }
});
