import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { ensurePage } from "./scripts/page.ts";

// wrangler.toml names its folder, and a clean clone has none.
ensurePage();

/** Megabytes in every size and store: minutes, with a script of their own. */
const LARGE = "test/**/*.large.test.ts";
/** Machines are slow at times; no test depends on how fast it is. */
const PATIENT_MS = 30_000;
/** What the files import takes longer than most of them: it is loaded once for all. */
const SHARED = { isolate: false };

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

/** Properties are tried with the same values in every run. */
const WITH_SEED = { setupFiles: ["test/support/property-seed.ts"] };

/** They start servers. */
const PROCESS = { testTimeout: 60_000, hookTimeout: 60_000 };
const ONE_FILE_AT_A_TIME = { fileParallelism: false };

/** Turns of tests are no news; those that look at what is told of one set `LOG` for themselves. */
const worker = () =>
  cloudflareTest({
    wrangler: { configPath: "./wrangler.toml" },
    miniflare: { bindings: { LOG: "off" } },
  });

export default defineConfig({
  test: {
    // By default one core stays idle; most machines that run these have two.
    maxWorkers: 2,
    // The object of a test that is over may still watch its turn, and finds itself in the context of another.
    onUnhandledError: ({ message }) => !message.includes("on behalf of a different Durable Object"),
    projects: [
      {
        resolve: IN_NODE,
        test: {
          name: "node",
          include: ["test/**/*.test.ts", "page/test/**/*.test.{ts,tsx}"],
          exclude: [
            "test/edge/**",
            "test/process/**",
            "test/browser/**",
            "test/templates/**",
            LARGE,
          ],
          testTimeout: PATIENT_MS,
          ...SHARED,
          ...WITH_SEED,
        },
      },
      {
        plugins: [worker()],
        resolve: OWN_NAME,
        test: {
          name: "workerd",
          include: ["test/edge/**/*.test.ts"],
          exclude: [LARGE],
          testTimeout: PATIENT_MS,
          ...SHARED,
        },
      },
      {
        resolve: IN_NODE,
        test: {
          name: "large",
          include: [LARGE],
          exclude: ["test/edge/**", "test/process/**", "test/browser/**"],
          testTimeout: 4 * PATIENT_MS,
          ...WITH_SEED,
        },
      },
      {
        plugins: [worker()],
        test: {
          name: "large-workerd",
          include: ["test/edge/**/*.large.test.ts"],
          testTimeout: 4 * PATIENT_MS,
        },
      },
      {
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts"],
          exclude: [LARGE],
          ...PROCESS,
          ...SHARED,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          exclude: [LARGE],
          ...PROCESS,
          ...SHARED,
          // All files share one browser, and so one worker, for which Vitest requires a group of its own.
          ...ONE_FILE_AT_A_TIME,
          sequence: { groupOrder: 2, concurrent: true },
          maxConcurrency: 3,
        },
      },
      {
        test: {
          name: "large-process",
          include: ["test/process/**/*.large.test.ts"],
          ...PROCESS,
          ...ONE_FILE_AT_A_TIME,
        },
      },
      // Each template of `create-byref` is installed from the registry.
      { test: { name: "templates", include: ["test/templates/**/*.test.ts"] } },
    ],
  },
});
