import * as z from "zod";
import * as limits from "../../limits.ts";
import { version } from "../../version.ts";
import type { Api } from "../conversation-parts.ts";
import { CONVERSATION_ID } from "../conversation-of.ts";
import type { Content, Description, Operation } from "../http/endpoint.ts";

const AT = "#/components/schemas/";

/** The document of an HTTP interface. */
export function openApiOf({ worker, tenant, conversation, components }: Required<Api>) {
  const document = new Describer(components);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const endpoint of [...worker, ...tenant, ...conversation]) {
    const { method, path } = endpoint;
    const at = path.replaceAll(/:(\w+)(\{.+\})?/g, "{$1}");
    paths[at] = { ...paths[at], [method.toLowerCase()]: document.operation(endpoint) };
  }
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
      schemas: document.schemas(),
      securitySchemes: {
        key: { type: "http", scheme: "bearer" },
        ticket: { type: "apiKey", in: "query", name: "ticket" },
      },
    },
  };
}

const ABOUT =
  "Sessions for AI agents whose tool results are variables. Errors are problem documents with a stable code.";

type Described = Operation & { readonly method: string; readonly path: string };

class Describer {
  readonly #names: ReadonlyMap<z.ZodType, string>;

  constructor(components: Api["components"]) {
    this.#names = new Map(
      Object.entries(components).map(([name, schema]) => [created(schema), name]),
    );
  }

  /** All schemas, each once, with references between them. */
  schemas(): Record<string, JsonSchema> {
    const registry = z.registry<{ id: string }>();
    for (const [schema, id] of this.#names) registry.add(schema, { id });
    const { schemas } = z.toJSONSchema(registry, { io: "input", uri: (id) => AT + id });
    return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, plain(schema)]));
  }

  operation({ method, path, ...operation }: Described) {
    const { summary, query = {}, headers = {}, isBodyOptional, answers, isOpen } = operation;
    const { body, content = body && { "application/json": body } } = operation;
    const [, resource, , part = ""] = path.split("/");
    const known = resource === "programs" || resource === "hooks" ? "programs" : "worker";
    const other = resource === "user" ? "variables" : known;
    const tag = resource === "conversations" ? (TAGS[part] ?? resource) : other;
    // Tickets are for paths below a conversation.
    const takesTicket = method === "GET" && resource === "conversations" && part !== "";
    const keys = takesTicket ? [{ key: [] }, { ticket: [] }] : [{ key: [] }];
    const pathParameters = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]): OpenApiParameter => ({
      name,
      in: "path",
      required: true,
      schema: IN_PATHS[name] ?? { type: "string" },
    }));
    const responses = Object.entries(answers).map(
      ([status, answer]) => [status, this.#answer(answer)] as const,
    );
    return {
      operationId: idOf(method, path),
      summary,
      tags: [tag] as const,
      security: isOpen === true ? [] : keys,
      parameters: [
        ...pathParameters,
        ...this.#parameters("query", query),
        ...this.#parameters("header", headers),
      ],
      ...(content && {
        requestBody: { required: isBodyOptional !== true, content: this.#content(content) },
      }),
      responses: Object.fromEntries<OpenApiResponse>([
        ...responses,
        ["default", { description: "Error", content: PROBLEM }],
      ]),
    };
  }

  #parameters(
    where: "query" | "header",
    schemas: Readonly<Record<string, z.ZodType>>,
  ): readonly OpenApiParameter[] {
    return Object.entries(schemas).map(([name, schema]) => ({
      name,
      in: where,
      // A literal confirms what the request does. All other parameters are optional.
      ...(schema instanceof z.ZodLiteral && { required: true }),
      schema: this.#schema(schema),
    }));
  }

  #answer(answer: Content | string): OpenApiResponse {
    if (typeof answer === "string") return { description: answer };
    return { description: "Done", content: this.#content(answer) };
  }

  #content(content: Content): MediaTypes {
    return Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [type, { schema: this.#schema(schema) }]),
    );
  }

  #schema(description: Description): JsonSchema {
    const schema = created(description);
    const name = this.#names.get(schema);
    if (name !== undefined) return { $ref: AT + name };
    return plain(z.toJSONSchema(schema, { io: "input" }));
  }
}

const created = (schema: Description) => (typeof schema === "function" ? schema() : schema);

/** Removes the members that only a standalone schema has. */
function plain({ $schema: _schema, $id: _id, ...schema }: z.core.JSONSchema.BaseSchema) {
  // Zod writes JSON Schema.
  return schema as JsonSchema;
}

const PROBLEM = { "application/problem+json": { schema: { $ref: `${AT}Problem` } } };

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
};

const IN_PATHS: Readonly<Record<string, JsonSchema>> = {
  id: { type: "string", pattern: CONVERSATION_ID.source },
  name: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: limits.maxNameChars },
  path: { type: "string", maxLength: limits.maxLineChars },
  program: { type: "string", pattern: CONVERSATION_ID.source },
};

/** `GET /conversations/:id/variables` becomes getConversationVariables. */
function idOf(method: string, path: string): string {
  const words = path.split("/").flatMap((part) => part.match(/\w+/g) ?? []);
  return (
    method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("")
  );
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
export type OpenApiOperation = ReturnType<Describer["operation"]>;

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
