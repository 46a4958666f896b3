import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import * as z from "zod";
import { guideFor } from "../../../../src/turn/history/guide.ts";
import { isObject } from "../../../../src/value/json.ts";
import { withParams } from "./model-middleware.ts";

/** Other texts in place of Byref's, to measure what they cost and gain. */
const variantSchema = z.strictObject({
  /** Shown in the table. */
  name: z.string().min(1),
  guide: z
    .strictObject({
      /** Replaces the sentence behind the instructions. */
      start: z.string().optional(),
      /** Replaces what follows the first handle. */
      details: z.string().optional(),
    })
    .optional(),
  /** Descriptions by the name of the tool. */
  tools: z.record(z.string(), z.string()).optional(),
  /** Texts by the code of the error. `{message}` is the message in them. */
  errors: z.record(z.string(), z.string()).optional(),
});

export type Variant = z.infer<typeof variantSchema>;

/** Parses the text of a file for `--variant`. Throws an error that names the field. */
export function variantIn(text: string): Variant {
  return variantSchema.parse(JSON.parse(text));
}

/** Returns the model with a variant's texts in all of its prompts. */
export function varied(model: LanguageModelV4, variant: Variant): LanguageModelV4 {
  return withParams(model, async ({ params }) => variedParams(params, variant));
}

function variedParams(
  params: LanguageModelV4CallOptions,
  variant: Variant,
): LanguageModelV4CallOptions {
  const { tools = [], prompt } = params;
  const described = tools.map((tool) => {
    const description = variant.tools?.[tool.name];
    return tool.type === "function" && description !== undefined ? { ...tool, description } : tool;
  });
  const replace = replacing(variant);
  const messages = prompt.map((message) => {
    if (message.role === "assistant") return message;
    // Only texts are replaced.
    return mapped(
      message,
      message.role === "tool" ? replace.inResults : replace.inGuide,
    ) as typeof message;
  });
  return { ...params, prompt: messages, ...(tools.length === 0 ? {} : { tools: described }) };
}

function replacing({ guide = {}, errors = {} }: Variant) {
  const { start, details } = guideFor("auto");
  const inGuide = (text: string) =>
    text
      .replace(start, () => guide.start ?? start)
      .replace(details, () => guide.details ?? details);
  const inResults = (text: string) => {
    // The SDK puts the name of the error's class before the code.
    const [, name = "", code = "", message = ""] =
      /^(\w+Error: )?([a-z_]+): ([\s\S]*)$/u.exec(text) ?? [];
    const other = Object.hasOwn(errors, code) ? errors[code] : undefined;
    if (other === undefined) return text;
    return `${name}${code}: ${other.replace("{message}", () => message)}`;
  };
  return { inGuide, inResults };
}

/** Replaces all texts in a value. A note of a reference that is not resolved has code and message apart. */
function mapped(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((one) => mapped(one, replace));
  if (!isObject(value)) return value;
  const { code, message } = value;
  if (typeof code === "string" && typeof message === "string") {
    const text = replace(`${code}: ${message}`);
    return { ...value, message: text.slice(code.length + 2) };
  }
  const entries = Object.entries(value).map(([key, one]) => [key, mapped(one, replace)]);
  return Object.fromEntries(entries);
}
