import * as z from "zod";
import { ByrefError } from "../errors.ts";
import { isObject } from "../value/json.ts";

const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "is not JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);

/** Says nothing of what it was given: keys are in there. */
const apiKeys = z.custom<Readonly<Record<string, string>>>(
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([key, tenant]) => key.length >= MIN_KEY_CHARS && typeof tenant === "string" && tenant !== "",
    ),
  { error: 'must be JSON: {"<key of at least 16 characters>": "<tenant>"}' },
);
const MIN_KEY_CHARS = 16;

const MODEL = /^(?:demo|openai-compatible:.+)$/;

/** Every setting of the Worker: variables and secrets, all of them text. */
export const settingsSchema = z
  .object({
    MODEL: z
      .string()
      .regex(MODEL, "must be demo or openai-compatible:<model>")
      .default("demo")
      .describe("The language model: demo, or openai-compatible:<model>"),
    MODEL_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be the endpoint's URL, /v1 included" })
      .optional()
      .describe("The endpoint of an openai-compatible model, /v1 included"),
    MODEL_API_KEY: z
      .string()
      .min(1)
      .optional()
      .describe("The key of that endpoint, if it needs one"),
    INSTRUCTIONS: z.string().optional().describe("Put in front of every agent's instructions"),
    AGENT: z.string().optional().describe("The agent that answers when a request names none"),
    AUTH: z
      .enum(["none", "bearer"], { error: "must be none or bearer" })
      .optional()
      .describe("Who may come in; unset, nobody"),
    API_KEYS: json(apiKeys).optional().describe('With AUTH=bearer: {"<key>": "<tenant>"}'),
    LOCAL_SECRET: z
      .string()
      .optional()
      .describe("With AUTH=none: what the listener in front sends along; npm start makes one"),
    CORS_ORIGINS: z.string().optional().describe("Origins that may call from a browser, by comma"),
  })
  .superRefine((settings, context) => {
    const need = (name: keyof typeof settings, why: string) =>
      context.addIssue({ code: "custom", path: [name], message: `must be set: ${why}` });
    if (settings.MODEL.startsWith("openai-compatible:") && settings.MODEL_BASE_URL === undefined) {
      need("MODEL_BASE_URL", "an openai-compatible model needs its endpoint");
    }
    if (settings.AUTH === "bearer" && settings.API_KEYS === undefined) {
      need("API_KEYS", 'AUTH=bearer needs keys, as JSON: {"<key>": "<tenant>"}');
    }
  });

export type Settings = z.infer<typeof settingsSchema>;

/** The names of all settings; nothing else of an environment reaches the Worker. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

/** The settings, checked. Throws `bad_configuration`, which says what to set; never a value. */
export function readSettings(env: Readonly<Record<string, unknown>>): Settings {
  const given = settingNames.filter((name) => typeof env[name] === "string" && env[name] !== "");
  const result = settingsSchema.safeParse(
    Object.fromEntries(given.map((name) => [name, env[name]])),
  );
  if (result.success) return result.data;
  const said = result.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`);
  throw new ByrefError("bad_configuration", `${said.join("; ")}.`);
}
