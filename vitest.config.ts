import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Whole files that are slow. Single slow tests have the tag. */
const LARGE = ["test/**/*.large.test.ts", "packages/*/test/**/*.large.test.ts"];
/** These start servers or browsers. */
const SERVERS = ["test/smoke/**", "test/process/**", "test/browser/**", "test/templates/**"];

/** The guides import `byref` as users do; `paths` in tsconfig.json lead to the source instead of `dist`. */
const OWN_NAME = { tsconfigPaths: true };

/** In plain Node the objects of the edge have a platform made for tests: `test/support/node-object.ts`. */
const IN_NODE = {
  ...OWN_NAME,
  alias: {
    "cloudflare:workers": new URL("test/support/cloudflare-workers.ts", import.meta.url).pathname,
    "cloudflare:test": new URL("test/support/cloudflare-test-in-node.ts", import.meta.url).pathname,
  },
};

/** A stuck test ends; a slow one does not, because no test depends on the speed of the machine. */
const STUCK_MS = 15 * 60_000;
const ALL = {
  testTimeout: STUCK_MS,
  hookTimeout: STUCK_MS,
  expect: { poll: { timeout: STUCK_MS } },
  setupFiles: ["test/support/patience.ts", "test/support/nothing-fake.ts"],
  // What the files import takes longer than most of them: it is loaded once for all.
  isolate: false,
};
/** Properties are tried with the same values in every run. */
const SEEDED = { ...ALL, setupFiles: [...ALL.setupFiles, "test/support/property-seed.ts"] };
/** wrangler.toml names the page's folder, and a new clone has none. */
const WITH_PAGE = { ...ALL, globalSetup: "test/support/build-page.ts" };

/** Folder by folder, so that results appear steadily. */
class ByPath extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
  }
}

/** workerd's own reports, of objects that a test kills and requests that it gives up. */
const WORKERD_REPORT = /^(?:(?:uncaught )?exception;? |e = |console warning; |NOSENTRY )/;
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (text: string | Uint8Array, ...rest: never[]) =>
    WORKERD_REPORT.test(String(text)) || write(text, ...rest);
}

const worker = () =>
  cloudflareTest({
    wrangler: { configPath: "./wrangler.toml" },
    // Turns of tests are no news; tests of log lines set `LOG` themselves.
    miniflare: { bindings: { LOG: "off" } },
  });

export default defineConfig({
  test: {
    // Each project runs in a group of its own: a worker that another project's file follows is started again.
    maxWorkers: 2,
    // Of passed tests, one line for each file.
    silent: "passed-only",
    slowTestThreshold: STUCK_MS,
    // Not the default: runs with another lock file, such as those with older peers, empty it while others read it.
    fsModuleCachePath: new URL("node_modules/.cache/vitest", import.meta.url).pathname,
    sequence: { sequencer: ByPath },
    tags: [
      { name: "slow", description: "Takes more than half a second. `npm test` leaves it out." },
      { name: "sampled", description: "Takes a tenth of its samples in `npm test`." },
    ],
    // The object of a test that is over may still watch its turn, and finds itself in the context of another.
    onUnhandledError: ({ message }) => !message.includes("on behalf of a different Durable Object"),
    projects: [
      {
        resolve: IN_NODE,
        test: {
          name: "node",
          include: [
            "test/**/*.test.ts",
            "packages/*/test/**/*.test.ts",
            "page/test/**/*.test.{ts,tsx}",
          ],
          exclude: ["test/edge/**", ...SERVERS, ...LARGE],
          ...SEEDED,
        },
      },
      {
        plugins: [worker()],
        resolve: OWN_NAME,
        test: {
          name: "workerd",
          include: ["test/edge/**/*.test.ts"],
          exclude: LARGE,
          ...WITH_PAGE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "smoke",
          include: ["test/smoke/**/*.test.ts"],
          ...WITH_PAGE,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts"],
          exclude: LARGE,
          ...WITH_PAGE,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          exclude: LARGE,
          ...WITH_PAGE,
          // All files share one browser, and so one worker.
          fileParallelism: false,
          sequence: { groupOrder: 4, concurrent: true },
          maxConcurrency: 3,
        },
      },
      {
        resolve: IN_NODE,
        test: {
          name: "large",
          include: LARGE,
          exclude: ["test/edge/**", ...SERVERS],
          ...SEEDED,
          isolate: true,
          sequence: { groupOrder: 5 },
        },
      },
      {
        plugins: [worker()],
        resolve: OWN_NAME,
        test: {
          name: "large-workerd",
          include: ["test/edge/**/*.large.test.ts"],
          ...WITH_PAGE,
          isolate: true,
          sequence: { groupOrder: 6 },
        },
      },
      {
        test: {
          name: "large-process",
          include: ["test/process/**/*.large.test.ts"],
          ...WITH_PAGE,
          fileParallelism: false,
          sequence: { groupOrder: 7 },
        },
      },
      // Templates of `create-byref` and examples are installed from the registry.
      {
        test: {
          name: "templates",
          include: ["test/templates/**/*.test.ts"],
          ...ALL,
          sequence: { groupOrder: 8 },
        },
      },
    ],
  },
});
