import type { TemplateStep } from "../src/template/template-step.ts";
import { readTemplate } from "../src/template/template.ts";
import { renderStep, type Shown, type StepSources } from "../src/template/render-step.ts";
import { lookupIn } from "../../../src/reference/lookup-in.ts";
import type { Json } from "../../../src/value/json.ts";

export const today = "2026-11-22";

export function step(text: string): TemplateStep {
  const [first] = readTemplate(text).template?.steps ?? [];
  if (first === undefined) throw new Error(JSON.stringify(readTemplate(text).findings));
  return first;
}

/** Creates sources from plain objects. Without `files`, there is no bucket. */
export function sourcesIn(
  variables: Readonly<Record<string, Json>>,
  files?: Readonly<Record<string, string>>,
): StepSources {
  const sources = {
    today,
    read: lookupIn(variables),
    exists: (name: string) => Object.hasOwn(variables, name),
  };
  if (files === undefined) return sources;
  return {
    ...sources,
    files: {
      list: async (prefix) => Object.keys(files).filter((path) => path.startsWith(prefix)),
      async read(path): Promise<Shown> {
        const value = files[path];
        return value === undefined ? { found: false, reason: "unknown" } : { found: true, value };
      },
    },
  };
}

export async function asked(text: string, sources: StepSources): Promise<string> {
  const rendered = await renderStep(step(text), sources);
  if (rendered.kind === "skipped") throw new Error(rendered.reason);
  return rendered.prompt;
}
