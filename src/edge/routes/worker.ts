import * as z from "zod";
import type { Agent } from "../../turn/agent.ts";
import { version } from "../../version.ts";
import type { Api } from "../api.ts";
import { endpoint } from "../http/endpoint.ts";
import { openApiOf } from "../openapi/document.ts";
import * as schemas from "../openapi/schemas.ts";

/** The Worker's own endpoints. `api`: the interface that the document describes. */
export function workerApi(agents: readonly Agent[], api: () => Required<Api>): Api {
  // Created on first use: it takes some milliseconds, and most isolates do not need it.
  let document: object | undefined;
  return {
    worker: [
      endpoint(
        "GET /health",
        {
          summary: "Says that the Worker runs",
          isOpen: true,
          answers: { 200: { "application/json": schemas.health } },
        },
        () => Response.json({ ok: true, version }),
      ),
      endpoint(
        "GET /agents",
        { summary: "Lists the agents", answers: { 200: { "application/json": schemas.agents } } },
        () =>
          Response.json({
            agents: agents.map(({ name, description }) => ({ name, description })),
          }),
      ),
      endpoint(
        "GET /openapi.json",
        {
          summary: "Describes every call: this document",
          answers: { 200: { "application/json": z.looseObject({ openapi: z.string() }) } },
        },
        () => Response.json((document ??= openApiOf(api()))),
      ),
    ],
    components: {},
  };
}
