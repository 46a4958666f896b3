import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { MediaTypes, OpenApi, OpenApiOperation } from "../../src/edge/openapi/document.ts";

/** A server's response. */
export interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Checks responses against the OpenAPI document. */
export class AnswerCheck {
  readonly #document: OpenApi;
  readonly #ajv: Ajv2020;
  readonly #known = new Map<string, ValidateFunction>();

  constructor(document: OpenApi) {
    this.#document = document;
    this.#ajv = new Ajv2020({
      strict: false,
      logger: false,
      formats: { "date-time": (time: string) => new Date(time).toJSON() === time },
    });
    this.#ajv.addSchema({ $id: "document", components: document.components });
  }

  /** Returns the fault of a response, or undefined. */
  faultOf(method: string, route: string, answered: Answered): string | undefined {
    const { status, type } = answered;
    if (status >= 500) return `${status} ${answered.text.slice(0, 500)}`;
    // Not in the document, because the method was changed.
    const operation = this.#document.paths[route]?.[method.toLowerCase()];
    if (status >= 400 || operation === undefined) return this.#problemFault(answered);
    const response = operation.responses[status];
    if (response === undefined) return `${status} is not among the answers`;
    if (response.content === undefined) return undefined;
    if (!isNamed(type, response.content)) return `${type} is not among the answers`;
    return type === "application/json" ? this.#jsonFault(operation, answered) : undefined;
  }

  #problemFault(answered: Answered): string | undefined {
    if (answered.type !== "application/problem+json") return `an error as ${answered.type}`;
    const body = JSON.parse(answered.text) as { readonly status: number };
    if (body.status !== answered.status) return `${answered.status} that says ${body.status}`;
    return this.#mismatch("#/components/schemas/Problem", body);
  }

  #jsonFault({ responses }: OpenApiOperation, { status, text }: Answered): string | undefined {
    const schema = responses[status]?.content?.["application/json"]?.schema ?? {};
    if (typeof schema.$ref === "string") return this.#mismatch(schema.$ref, JSON.parse(text));
    return undefined;
  }

  #mismatch(reference: string, value: unknown): string | undefined {
    const check = this.#known.get(reference) ?? this.#ajv.compile({ $ref: `document${reference}` });
    this.#known.set(reference, check);
    return check(value) ? undefined : this.#ajv.errorsText(check.errors);
  }
}

function isNamed(type: string, content: MediaTypes): boolean {
  return Object.keys(content).some((name) => name === type || name === "*/*");
}
