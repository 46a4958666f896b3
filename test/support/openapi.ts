export type Schema = Readonly<Record<string, unknown>>;
export type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** What `GET /openapi.json` answers. */
export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface App {
  request(url: string, init: RequestInit, bindings: object): Response | Promise<Response>;
}

/** The document of an app, in plain Node. */
export async function openApiFrom(app: App): Promise<OpenApi> {
  const response = await app.request("http://localhost/openapi.json", {}, {});
  return (await response.json()) as OpenApi;
}
