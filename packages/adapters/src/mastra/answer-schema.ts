import { asSchema, type FlexibleSchema, type JSONSchema7 } from "ai";
import * as z from "zod";
import { widenAnswer } from "../agent/expand-object.ts";
import type { ExpandingOptions } from "../agent/expand-answer.ts";
import { messageOf } from "../../../../src/errors.ts";
import { json } from "../../../../src/internal.ts";
import { toolInputs } from "../../../../src/internal-tool.ts";
import type { StandardSchema } from "./mastra-agent.ts";

/** A schema of structured answers, for a model that writes references. */
export interface AnswerSchema {
  /** For Mastra: parts of the answer may be references, which are replaced before they are validated. */
  readonly schema: StandardSchema;
  /** The JSON Schema of the answer with values. */
  readonly values: JSONSchema7;
}

/** The schemas that were made here. Mastra passes them on to agents that may be wrapped, too. */
const made = new WeakSet<object>();

/** Returns the schema for Mastra. `expand` replaces the references in an answer. */
export async function answerSchema(
  given: object,
  options: ExpandingOptions,
  expand: (answer: unknown, values: JSONSchema7) => Promise<unknown>,
): Promise<AnswerSchema | undefined> {
  if (made.has(given)) return undefined;
  const own = standardOf(given) ?? (await converted(given));
  const jsonSchemaOf = (io: "input" | "output", format: object) =>
    widenAnswer(own.jsonSchema[io](format), options);
  const values = own.jsonSchema.input({ target: "draft-07", libraryOptions: UNREPRESENTABLE });
  const schema: StandardSchema = {
    "~standard": {
      ...own,
      // Mastra treats the schemas of some vendors as theirs.
      vendor: "byref",
      validate: async (answer) => own.validate(await expand(answer, values)),
      jsonSchema: {
        input: (format) => jsonSchemaOf("input", format),
        output: (format) => jsonSchemaOf("output", format),
      },
    },
  };
  made.add(schema);
  return { schema, values };
}

/** As Mastra converts schemas, a part that JSON Schema does not have may be anything. */
const UNREPRESENTABLE = { unrepresentable: "any" };

type Standard = StandardSchema["~standard"];

function standardOf(schema: object): Standard | undefined {
  const own: unknown = "~standard" in schema ? schema["~standard"] : undefined;
  return json.isObject(own) && json.isObject(own.jsonSchema)
    ? (own as unknown as Standard)
    : undefined;
}

type JSONSchema = Parameters<typeof z.fromJSONSchema>[0];

/** Converts a schema of Zod 3 or the AI SDK, or a JSON Schema. */
async function converted(given: object): Promise<Standard> {
  const isSchema = "~standard" in given || "jsonSchema" in given;
  const own = asSchema(
    isSchema ? (given as FlexibleSchema<unknown>) : z.fromJSONSchema(given as JSONSchema),
  );
  const plain = isSchema ? await own.jsonSchema : given;
  return {
    version: 1,
    validate: async (value) => {
      const result = (await own.validate?.(value)) ?? { success: true, value };
      if (result.success) return { value: result.value };
      const issues = toolInputs.issuesOf(result.error);
      return {
        issues: issues.length > 0 ? issues : [{ path: [], message: messageOf(result.error) }],
      };
    },
    jsonSchema: { input: () => plain, output: () => plain },
  };
}
