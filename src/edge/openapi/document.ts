import * as z from "zod";
import * as limits from "../../limits.ts";
import { version } from "../../version.ts";
import type { Api } from "../conversation-parts.ts";
import { CONVERSATION_ID } from "../conversation-of.ts";
import type { Content, Description, Endpoint, Operation } from "../http/endpoint.ts";

const AT = "#/components/schemas/";

export function openApiOf({ worker, tenant, conversation, components }: Required<Api>) {
  const named = Object.entries(components).map(
    ([name, schema]) => [created(schema), name] as const,
  );
  const describe = operationDescriber(new Map(named));
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const endpoint of [...worker, ...tenant, ...conversation]) {
    const { method, path } = endpoint;
    const at = path.replaceAll(/:(\w+)(\{.+\})?/g, "{$1}");
    paths[at] = { ...paths[at], [method.toLowerCase()]: describe(endpoint) };
  }
  // Each once, with references between them.
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of named) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io: "input", uri: (id) => AT + id });
  const plainSchemas = Object.entries(schemas).map(([id, schema]) => [id, plain(schema)] as const);
  return {
    openapi: "3.1.0" as const,
    info: {
      title: "Byref",
      version,
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    paths,
    components: {
      schemas: Object.fromEntries(plainSchemas),
      securitySchemes: {
        key: { type: "http", scheme: "bearer" },
        ticket: { type: "apiKey", in: "query", name: "ticket" },
      },
    },
  };
}

const ABOUT =
  "Sessions for AI agents whose tool results are variables. Errors are problem documents with a stable code.";

/** `names`: those of the schemas that have one. */
function operationDescriber(names: ReadonlyMap<z.ZodType, string>) {
  const schemaOf = (description: Description): JsonSchema => {
    const schema = created(description);
    const name = names.get(schema);
    return name === undefined
      ? plain(z.toJSONSchema(schema, { io: "input" }))
      : { $ref: AT + name };
  };
  const contentOf = (content: Content): MediaTypes =>
    Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [type, { schema: schemaOf(schema) }]),
    );
  const parametersOf = (
    where: "query" | "header",
    schemas: NonNullable<Operation["query"]> = {},
  ): readonly OpenApiParameter[] =>
    Object.entries(schemas).map(([name, schema]) => ({
      name,
      in: where,
      // A literal confirms what the request does. All other parameters are optional.
      ...(schema instanceof z.ZodLiteral && { required: true }),
      schema: schemaOf(schema),
    }));

  return ({ method, path, ...operation }: Pick<Endpoint<never>, "method" | "path"> & Operation) => {
    const { summary, query, headers, isBodyOptional, answers, isOpen } = operation;
    const { body, content = body && { "application/json": body } } = operation;
    const [, resource = "", , part = ""] = path.split("/");
    const isConversation = resource === "conversations";
    const tag = isConversation ? (TAGS[part] ?? resource) : (TAGS[resource] ?? "worker");
    // Tickets are for paths below a conversation.
    const takesTicket = method === "GET" && isConversation && part !== "";
    const keys = takesTicket ? [{ key: [] }, { ticket: [] }] : [{ key: [] }];
    const pathParameters = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]): OpenApiParameter => ({
      name,
      in: "path",
      required: true,
      schema: IN_PATHS[name] ?? { type: "string" },
    }));
    const responses = Object.entries(answers).map(([status, answer]): [string, OpenApiResponse] => [
      status,
      typeof answer === "string"
        ? { description: answer }
        : { description: "Done", content: contentOf(answer) },
    ]);
    return {
      operationId: idOf(method, path),
      summary,
      tags: [tag] as const,
      security: isOpen === true ? [] : keys,
      parameters: [
        ...pathParameters,
        ...parametersOf("query", query),
        ...parametersOf("header", headers),
      ],
      ...(content && {
        requestBody: { required: isBodyOptional !== true, content: contentOf(content) },
      }),
      responses: Object.fromEntries<OpenApiResponse>([
        ...responses,
        ["default", { description: "Error", content: PROBLEM }],
      ]),
    };
  };
}

const created = (schema: Description) => (typeof schema === "function" ? schema() : schema);

/** Removes the members that only a standalone schema has. */
function plain({ $schema: _schema, $id: _id, ...schema }: z.core.JSONSchema.BaseSchema) {
  // Zod writes JSON Schema.
  return schema as JsonSchema;
}

const PROBLEM = { "application/problem+json": { schema: { $ref: `${AT}Problem` } } };

/** By the part of a path below a conversation, or the first part of another. */
const TAGS: Readonly<Record<string, string>> = {
  messages: "turns",
  approvals: "turns",
  stop: "turns",
  stream: "turns",
  socket: "turns",
  variables: "variables",
  interpolate: "variables",
  query: "variables",
  files: "files",
  plans: "plans",
  programs: "programs",
  hooks: "programs",
  user: "variables",
};

const IN_PATHS: Readonly<Record<string, JsonSchema>> = {
  id: { type: "string", pattern: CONVERSATION_ID.source },
  name: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: limits.maxNameChars },
  path: { type: "string", maxLength: limits.maxLineChars },
  program: { type: "string", pattern: CONVERSATION_ID.source },
};

/** `GET /conversations/:id/variables` becomes getConversationVariables. */
function idOf(method: string, path: string): string {
  const words = path.match(/\w+/g) ?? [];
  const camel = words.map((word) => word.replace(/^./u, (letter) => letter.toUpperCase()));
  return method.toLowerCase() + camel.join("");
}

/** A JSON schema as Zod writes it: none is a boolean, and no array has a list of `items`. */
export interface JsonSchema extends z.core.JSONSchema.JSONSchema {
  readonly anyOf?: JsonSchema[];
  readonly oneOf?: JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Record<string, JsonSchema>;
  readonly additionalProperties?: JsonSchema | boolean;
}
type MediaTypes = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** An OpenAPI 3.1 document, the response of `GET /openapi.json`. */
export type OpenApi = ReturnType<typeof openApiOf>;
export type OpenApiOperation = ReturnType<ReturnType<typeof operationDescriber>>;

export interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface OpenApiResponse {
  readonly description: string;
  readonly content?: MediaTypes;
}
