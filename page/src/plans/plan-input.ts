import type { Json } from "../../../src/value/json.ts";

const READ = /(?:†|\$|variable:|\{\{\s*)input\.([A-Za-z_]\w*)/g;

/** Returns the fields of the run's input that the calls read. */
export function inputFields(calls: readonly { readonly input: Json }[]): readonly string[] {
  const fields = new Set<string>();
  const look = (value: Json) => {
    if (typeof value === "string") {
      for (const [, field = ""] of value.matchAll(READ)) fields.add(field);
    } else if (typeof value === "object" && value !== null) {
      for (const child of Object.values(value)) look(child);
    }
  };
  for (const { input } of calls) look(input);
  return [...fields];
}

/** Returns a template of a run's input: the last run's input, or empty texts. */
export function inputTemplate(fields: readonly string[], last: Json | undefined): string {
  const isUseful = typeof last === "object" && last !== null && Object.keys(last).length > 0;
  const blank = Object.fromEntries(fields.map((field) => [field, ""]));
  return JSON.stringify(isUseful ? last : blank, undefined, 2);
}
