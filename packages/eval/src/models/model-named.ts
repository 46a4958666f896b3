import type { LanguageModelV4 } from "@ai-sdk/provider";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import type { ModelProvider } from "../../../../src/internal-edge.ts";
import { skillModel } from "../skill/skill-model.ts";
import { skillNamed } from "../skill/skills.ts";
import { around } from "./metered.ts";

/** Settings of the model: `MODEL_BASE_URL`, `MODEL_API_KEY`, `CLOUDFLARE_ACCOUNT_ID`. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>;

interface Kind {
  readonly setting: string;
  readonly package: string;
  load(): Promise<Pick<ModelProvider, "model">>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "openai-compatible": {
    setting: "MODEL_BASE_URL",
    package: "@ai-sdk/openai-compatible",
    load: async () => (await import("../../../../src/openai-compatible.ts")).openaiCompatibleModels,
  },
  anthropic: {
    setting: "MODEL_API_KEY",
    package: "@ai-sdk/anthropic",
    load: async () => (await import("../../../../src/anthropic.ts")).anthropicModels,
  },
  openai: {
    setting: "MODEL_API_KEY",
    package: "@ai-sdk/openai",
    load: async () => (await import("../../../../src/openai.ts")).openaiModels,
  },
  // Over HTTP, because there is no binding outside of a Worker.
  "workers-ai": {
    setting: "CLOUDFLARE_ACCOUNT_ID",
    package: "workers-ai-provider",
    load: async () => {
      const { createWorkersAI } = await import("workers-ai-provider");
      return {
        model: (id, env) => {
          const { CLOUDFLARE_ACCOUNT_ID: accountId = "", MODEL_API_KEY: apiKey = "" } =
            env as unknown as ModelEnvironment;
          return createWorkersAI({ accountId, apiKey })(id) as LanguageModelV4;
        },
      };
    },
  },
};

/** Returns the model of `kind:id`. */
export async function modelNamed(name: string, env: ModelEnvironment): Promise<LanguageModelV4> {
  const [kind = "", ...rest] = name.split(":");
  const id = rest.join(":");
  if (kind === "scripted") return skillModel(skillNamed(id));
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (known === undefined || id === "") {
    const forms = [...Object.keys(KINDS), "scripted"].map((one) => `${one}:NAME`);
    throw new Error(`--model needs ${forms.join(", ")}, not ${name}.`);
  }
  if (!env[known.setting]) throw new Error(`${kind} needs ${known.setting} in the environment.`);
  const provider = await installed(kind, known);
  // Only the settings of models are read.
  const model = provider.model(id, env as never, {} as never) as LanguageModelV4;
  return withoutKey(model, env.MODEL_API_KEY);
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

async function installed(kind: string, { package: name, load }: Kind) {
  try {
    return await load();
  } catch (error) {
    if (codeOf(error) !== "internal" || !messageOf(error).includes(name)) throw error;
    throw new Error(`${kind} needs the package ${name}: npm install ${name}`, { cause: error });
  }
}
