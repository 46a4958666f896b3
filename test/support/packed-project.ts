import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packedTarball } from "../../scripts/pack.ts";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");

/** Peer dependencies of exports that few applications use. `@mastra/core` belongs to an example. */
const otherPeers = [
  "@ai-sdk/anthropic",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/react",
  "@types/react",
  "react",
  "workers-ai-provider",
];
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: object;
};
const entries = Object.keys(exports).filter((path) => !/\*|mastra/.test(path));
/** Exports that need the types of Workers. */
const ofWorkers = new Set([".", "./durable", "./testing"]);

function importing(paths: readonly string[]): string {
  const lines = paths.map(
    (path, index) => `export * as entry${index} from "${join("byref", path)}";\n`,
  );
  return lines.join("");
}

/** The code of a user who has installed the package. */
const project = {
  "src/all.ts": importing(entries),
  "src/all-in-node.ts": importing(entries.filter((path) => !ofWorkers.has(path))),
  "src/index.ts": `import { createRuntime, modelFromSettings, planSupport, templates } from "byref";
import { demoModels } from "byref/demo";
import { ownModels } from "./model.js";
import { weather } from "./weather.js";

const runtime = createRuntime({
  model: modelFromSettings(demoModels, ownModels),
  plans: planSupport(templates),
  spend: { tenant: { per: "day", modelCalls: 1_000 } },
  agents: [weather],
});

export class Conversation extends runtime.Conversation {}
export class Directory extends runtime.Directory {}

export default runtime.worker;
`,
  "src/weather.ts": `import { tool } from "ai";
import type { Agent } from "byref";
import * as z from "zod";

const reading = z.object({ city: z.string(), temperature: z.number() });

export const weather: Agent = {
  name: "weather",
  description: "Knows the weather.",
  instructions: "Use get_weather.",
  tools: {
    get_weather: tool({
      description: "The weather somewhere.",
      inputSchema: z.object({ location: z.string() }),
      outputSchema: reading,
      execute: ({ location }) => ({ city: \`Packed \${location}\`, temperature: 21 }),
    }),
  },
};
`,
  "src/model.ts": `import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelProvider } from "byref";

declare const model: LanguageModelV4;

/** Only its types are checked. */
export const ownModels: ModelProvider = { name: "own", model: () => model };
`,
  "src/page.ts": `import { ClientError, createClient } from "byref/client";

export async function ask(url: string, question: string): Promise<string> {
  const conversation = createClient(url, { auth: async () => "key" }).conversation("c");
  const turn = conversation.send(question, { signal: AbortSignal.timeout(600_000) });
  const temperatures: number[] = [];
  for await (const chunk of turn) {
    if (chunk.type === "data-variable") temperatures.push(chunk.data.bytes);
    if (chunk.type === "data-unresolved") throw new Error(chunk.data.reference);
  }
  try {
    const { calls } = await conversation.plans.propose({ calls: [{ _tool: "nobody" }] });
    throw new Error(\`\${calls.length} calls were taken.\`);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== "invalid_plan") throw error;
  }
  const { message, savings } = await turn.json();
  const texts = message.parts.map((part) => (part.type === "text" ? part.text : ""));
  return \`\${temperatures.length} \${savings.promptChars > 0} \${texts.join("")}\`;
}
`,
  "src/ask.ts": `import { limits, withToolVariables } from "byref/agent";
import { limits as sameLimits, lookupIn, resolveReferences } from "byref/references";
import { ask } from "./page.js";

const lookup = lookupIn({ city: { name: "Oslo" } });
const { value } = await resolveReferences("In $city.name.", lookup);
console.log(typeof withToolVariables, value);
if (limits.maxNameChars !== sameLimits.maxNameChars) throw new Error("The limits differ.");
console.log(await ask(process.argv[2] ?? "", "What's the weather in NYC?"));
`,
  "test/weather.test.ts": `import { callsOf, scriptedModel, startRuntime } from "byref/testing";
import { expect, it, vi } from "vitest";
import { weather } from "../src/weather.js";

it("answers after a crash", async () => {
  const model = scriptedModel([
    { tool: "get_weather", input: { location: "Oslo" } },
    () => new Promise<never>(() => {}),
    "In $get_weather_oslo.city.",
  ]);
  await using runtime = await startRuntime({ agents: [weather], model });
  const answer = runtime.client.conversation("c").send("Weather in Oslo?").text();
  await vi.waitUntil(() => model.calls.length === 2);
  await runtime.restart();
  expect(await answer).toBe("In Packed Oslo.");
  expect(callsOf(model)[0]?.tools).toContain("get_weather");
});
`,
  "test/node.test.ts": `import { callsOf, scriptedModel, startRuntime } from "byref/testing";
import { expect, it } from "vitest";

it("has a model in Node, and no runtime", async () => {
  const model = scriptedModel(["Hello."]);
  const prompt = [{ role: "system" as const, content: "Be brief." }];
  expect((await model.doGenerate({ prompt })).content).toEqual([{ type: "text", text: "Hello." }]);
  expect(callsOf(model)[0]?.instructions).toBe("Be brief.");
  await expect(startRuntime({ agents: [] as never, model })).rejects.toThrow("cloudflare:");
});
`,
  "vitest.config.ts": `import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    testTimeout: 600_000,
    projects: [
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: { name: "worker", include: ["test/weather.test.ts"] },
      },
      { test: { name: "node", include: ["test/node.test.ts"] } },
    ],
  },
});
`,
  "wrangler.toml": `name = "packed"
main = "src/index.ts"
compatibility_date = "2026-10-01"
compatibility_flags = ["nodejs_compat"]

[[durable_objects.bindings]]
name = "CONVERSATIONS"
class_name = "Conversation"

[[durable_objects.bindings]]
name = "DIRECTORY"
class_name = "Directory"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Conversation", "Directory"]
`,
  "package.json": JSON.stringify({ name: "packed", type: "module" }),
  "tsconfig.json": tsconfig(["src/index.ts", "test/weather.test.ts", "src/all.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024"],
    types: ["@cloudflare/workers-types"],
  }),
  "tsconfig.all-in-node.json": tsconfig(["src/all-in-node.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    types: ["node"],
    skipLibCheck: false,
  }),
  "tsconfig.page.json": tsconfig(["src/page.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024", "DOM", "DOM.AsyncIterable"],
    types: [],
  }),
  "tsconfig.node.json": tsconfig(["src/ask.ts"], {
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["ES2024"],
    types: ["node"],
    noEmit: false,
    rootDir: "src",
    outDir: "built",
  }),
} as const;

function tsconfig(files: readonly string[], options: object): string {
  const common = { target: "es2024", module: "esnext", strict: true, skipLibCheck: true };
  return JSON.stringify({ files, compilerOptions: { ...common, noEmit: true, ...options } });
}

/**
 * Options that put this project's binaries on the path and pass nothing else from this process's environment.
 */
export function options(cwd: string) {
  const { PATH = "", HOME = "" } = process.env;
  const env = { HOME, PATH: `${join(modules, ".bin")}:${PATH}`, CI: "1" };
  return { cwd, env, encoding: "utf8", stdio: "pipe" } as const;
}

export function run(folder: string, program: string, ...parameters: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, options(folder));
  if (status === 0) return stdout;
  throw new Error(`${program} ${parameters.join(" ")}:\n${stdout}${stderr}`);
}

/**
 * Installs as npm would, without a registry: only the package, its declared dependencies, and what the
 * project itself uses. An undeclared import is not found.
 */
function install(tarball: string, folder: string): void {
  const own = join(folder, "node_modules/byref");
  mkdirSync(own, { recursive: true });
  run(folder, "tar", "-xzf", tarball, "-C", own, "--strip-components=1");
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(own, "package.json"), "utf8"),
  ) as Readonly<Record<"dependencies" | "peerDependencies" | "peerDependenciesMeta", object>>;
  const peers = Object.keys(peerDependencies).filter((name) => !(name in peerDependenciesMeta));
  const testing = ["vitest", "@cloudflare/vitest-pool-workers"];
  const tools = ["@cloudflare/workers-types", "@types/node", ...testing];
  for (const name of [...Object.keys(dependencies), ...peers, ...otherPeers, ...tools]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(modules, name), link);
  }
}

/** Creates an application in `folder` that has installed the package and its declared dependencies. */
export async function packedProject(folder: string): Promise<void> {
  const app = join(folder, "app");
  for (const [name, text] of Object.entries(project)) {
    mkdirSync(dirname(join(app, name)), { recursive: true });
    writeFileSync(join(app, name), text);
  }
  install(await packedTarball(), app);
}
