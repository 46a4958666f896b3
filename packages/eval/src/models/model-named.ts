import type { LanguageModelV4 } from "@ai-sdk/provider";
import { around } from "./model-middleware.ts";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import type { ModelProvider } from "../../../../src/edge/models/model.ts";
import { type SkillServer, startSkillServer } from "../skill/skill-server.ts";
import { skillNamed } from "../skill/skills.ts";

/** Settings of the model: `MODEL_BASE_URL`, `MODEL_API_KEY`, `CLOUDFLARE_ACCOUNT_ID`. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>;

/** A model, and what ends with it. */
export interface NamedModel {
  readonly model: LanguageModelV4;
  /** URL of the model's endpoint, part of the cache key. */
  readonly endpoint: string;
  close(): Promise<void>;
}

const FORMS =
  "openai-compatible:NAME, anthropic:NAME, openai:NAME, workers-ai:NAME or scripted:NAME";

/** Returns the model of `kind:id`. A scripted one is a server on the loopback address. */
export async function modelNamed(name: string, env: ModelEnvironment): Promise<NamedModel> {
  const [kind = "", ...rest] = name.split(":");
  const id = rest.join(":");
  if (id === "") throw new Error(`--model needs ${FORMS}, not ${name}.`);
  switch (kind) {
    case "scripted":
      return scriptedNamed(id);
    case "openai-compatible":
      required(env, "MODEL_BASE_URL", kind);
      return provided(
        name,
        env,
        async () =>
          (await import("../../../../src/edge/models/openai-compatible.ts")).openaiCompatibleModels,
      );
    case "anthropic":
      required(env, "MODEL_API_KEY", kind);
      return provided(
        name,
        env,
        async () => (await import("../../../../src/edge/models/anthropic.ts")).anthropicModels,
      );
    case "openai":
      required(env, "MODEL_API_KEY", kind);
      return provided(
        name,
        env,
        async () => (await import("../../../../src/edge/models/openai.ts")).openaiModels,
      );
    case "workers-ai":
      return workersAi(id, env);
    default:
      throw new Error(`--model needs ${FORMS}, not ${name}.`);
  }
}

const PACKAGES: Readonly<Record<string, string>> = {
  "openai-compatible": "@ai-sdk/openai-compatible",
  scripted: "@ai-sdk/openai-compatible",
  anthropic: "@ai-sdk/anthropic",
  openai: "@ai-sdk/openai",
  "workers-ai": "workers-ai-provider",
};

async function provided(
  name: string,
  env: ModelEnvironment,
  load: () => Promise<ModelProvider>,
): Promise<NamedModel> {
  const [kind = "", ...rest] = name.split(":");
  const provider = await installed(kind, load);
  // Only the settings of models are read.
  const model = provider.model(rest.join(":"), env as never, {} as never) as LanguageModelV4;
  return {
    model: withoutKey(model, env.MODEL_API_KEY),
    endpoint: env.MODEL_BASE_URL ?? kind,
    close: async () => {},
  };
}

/** Removes the key from messages of errors, which are logged and stored. */
function withoutKey(model: LanguageModelV4, key: string | undefined): LanguageModelV4 {
  if (key === undefined || key === "") return model;
  return around(model, async ({ doGenerate }) => {
    try {
      return await doGenerate();
    } catch (error) {
      if (error instanceof Error) error.message = error.message.replaceAll(key, "…");
      throw error;
    }
  });
}

async function scriptedNamed(id: string): Promise<NamedModel> {
  const server: SkillServer = await startSkillServer(skillNamed(id));
  const { model } = await provided(
    `scripted:${id}`,
    { MODEL_BASE_URL: server.url },
    async () =>
      (await import("../../../../src/edge/models/openai-compatible.ts")).openaiCompatibleModels,
  );
  return { model, endpoint: "scripted", close: server.close };
}

/** Workers AI over HTTP, because there is no binding outside of a Worker. */
async function workersAi(id: string, env: ModelEnvironment): Promise<NamedModel> {
  const accountId = required(env, "CLOUDFLARE_ACCOUNT_ID", "workers-ai");
  const apiKey = required(env, "MODEL_API_KEY", "workers-ai");
  const { createWorkersAI } = await installed("workers-ai", () => import("workers-ai-provider"));
  const model = createWorkersAI({ accountId, apiKey })(id);
  return {
    model: withoutKey(model as LanguageModelV4, apiKey),
    endpoint: "workers-ai",
    close: async () => {},
  };
}

function required(env: ModelEnvironment, setting: string, kind: string): string {
  const value = env[setting];
  if (value === undefined || value === "")
    throw new Error(`${kind} needs ${setting} in the environment.`);
  return value;
}

async function installed<Module>(kind: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const isMissing =
      codeOf(error) === "internal" && messageOf(error).includes(PACKAGES[kind] ?? kind);
    if (!isMissing) throw error;
    const name = PACKAGES[kind] ?? kind;
    throw new Error(`${kind} needs the package ${name}: npm install ${name}`, { cause: error });
  }
}
