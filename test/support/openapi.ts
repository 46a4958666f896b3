import type { OpenApi } from "../../src/edge/openapi/document.ts";

interface App {
  request(url: string, init: RequestInit, bindings: object): Response | Promise<Response>;
}

/** Returns the OpenAPI document of an app, in plain Node. */
export async function openApiFrom(app: App): Promise<OpenApi> {
  const response = await app.request("http://localhost/openapi.json", {}, {});
  return (await response.json()) as OpenApi;
}
