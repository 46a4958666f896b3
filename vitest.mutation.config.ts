import { BaseSequencer } from "vitest/node";
import { defineConfig } from "vitest/config";
import { instrumented, testFiles } from "./scripts/mutation/instrument.ts";

const { files } = await instrumented();
const contents = new Map(files.map(({ name, content }) => [name, content]));

/** They take long, or wait: by then most mutants are dead. */
const LAST = [
  "reference/expand.test",
  "reference/cases",
  "reference/streams",
  "tool/composed-bounds",
  "tool/run-tool",
  "agent/wrap-tools-kinds",
  "tool/wrap-tool",
];

class QuickFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const place = ({ moduleId }: (typeof files)[number]) =>
      LAST.findIndex((name) => moduleId.includes(name));
    return files.toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  resolve: {
    alias: {
      "cloudflare:workers": new URL("test/support/cloudflare-workers.ts", import.meta.url).pathname,
    },
  },
  plugins: [{ name: "mutants", enforce: "pre", load: (id) => contents.get(id) }],
  test: {
    include: testFiles(),
    runner: "./scripts/mutation/runner.ts",
    testTimeout: 10_000,
    // Its key knows nothing of mutants, so it would run modules that were cached without them.
    fsModuleCache: false,
    isolate: false,
    maxWorkers: 1,
    dangerouslyIgnoreUnhandledErrors: true,
    sequence: { sequencer: QuickFirst },
  },
});
