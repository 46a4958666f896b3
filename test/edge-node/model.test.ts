import { expect, it } from "vitest";
import { demoModels } from "../../examples/demo-model/demo-model.ts";
import {
  modelFromSettings,
  modelKinds,
  modelNamed,
  type ModelProvider,
} from "../../src/edge/model.ts";
import { readSettings } from "../../src/edge/settings.ts";
import { scriptedModel } from "byref/testing";

const key = "sk-test-0123456789-never-to-be-seen";
// Bindings that these tests do not read.
const env = {} as Cloudflare.Env;

const refused = (message: unknown) =>
  expect.objectContaining({ code: "bad_configuration", message });

it("returns the demo model by default if the application passes it", () => {
  const model = modelFromSettings(demoModels)(readSettings({}), env);
  expect(model).toMatchObject({ modelId: "demo" });
  expect(() => modelFromSettings()(readSettings({}), env)).toThrow(refused(expect.any(String)));
});

it("passes the rest of MODEL, the settings and the bindings to the provider that MODEL names", () => {
  const model = scriptedModel([]);
  const asked: unknown[] = [];
  const openai: ModelProvider = {
    name: "openai",
    model: (...all) => {
      asked.push(...all);
      return model;
    },
  };
  const settings = readSettings({ MODEL: "openai:ft:one:two", MODEL_API_KEY: key });
  expect(modelFromSettings(openai)(settings, env)).toBe(model);
  expect(asked).toEqual(["ft:one:two", settings, env]);
});

it("lists the models that are built in if MODEL names another", () => {
  const openai: ModelProvider = { name: "openai", model: () => scriptedModel([]) };
  const settings = readSettings({ MODEL: "openai-compatible:one", MODEL_API_KEY: key });
  const message =
    "MODEL must be one of demo, openai:<model>. For openai-compatible:<model> pass openaiCompatibleModels of byref/openai-compatible to modelFromSettings.";
  expect(() => modelFromSettings(demoModels, openai)(settings, env)).toThrow(refused(message));
});

it.each([
  { MODEL: "anthropic:one" },
  { MODEL: "openai:one" },
  { MODEL: "openai-compatible:one", MODEL_API_KEY: key },
  { MODEL: "openai" },
  { MODEL: "openai:" },
  { MODEL: "demo:one" },
  { MODEL: "gemini:one", MODEL_API_KEY: key },
  { MODEL: "openai:one", MODEL_API_KEY: key, MODEL_BASE_URL: `file:///${key}` },
])("refuses %j, and quotes no value", (given) => {
  const choose = () => modelNamed(readSettings(given), modelKinds);
  const said = expect.stringMatching(/^MODEL(?:_API_KEY|_BASE_URL)? must be /);
  expect(choose).toThrow(refused(said));
  expect(choose).not.toThrow(key);
});

it.each([
  { MODEL: "workers-ai:@cf/meta/llama" },
  { MODEL: "anthropic:one", MODEL_API_KEY: key },
  { MODEL: "openai-compatible:one", MODEL_BASE_URL: "http://localhost:1/v1" },
])("accepts %j", (given) => {
  const settings = readSettings(given);
  expect(settings).toMatchObject(given);
  const [kind] = given.MODEL.split(":");
  expect(modelNamed(settings, modelKinds).kind.name).toBe(kind);
});
