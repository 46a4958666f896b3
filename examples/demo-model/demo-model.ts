import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelProvider } from "../../src/byref.ts";
import {
  demoModel as modelOfRules,
  type DemoModelOptions,
} from "../../packages/testing/src/demo.ts";
import { shop } from "./shop.ts";

/** The demo model, with the phrases of the example agents. */
export function demoModel(options: Omit<DemoModelOptions, "scripts"> = {}): LanguageModelV4 {
  return modelOfRules({ ...options, scripts: [shop] });
}

/** `MODEL=demo`, the default. */
export const demoModels: ModelProvider = { name: "demo", model: () => demoModel() };
