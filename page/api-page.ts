import type { Plugin } from "vite";
import { createApp } from "../src/edge/app.ts";
import type { JsonSchema, OpenApi, OpenApiOperation } from "../src/edge/openapi/document.ts";
import { planSupport } from "../src/edge/routes/plans.ts";
import { transfers } from "../src/edge/routes/transfer.ts";

/** Puts every call of the HTTP interface into `docs/index.html`, from the document that describes them. */
export function apiPage() {
  return {
    name: "api-page",
    async transformIndexHtml(html: string, { path }: { readonly path: string }) {
      if (!path.includes("docs/")) return html;
      return html.replace("<!-- calls -->", pageOf(await openApi()));
    },
  } satisfies Plugin;
}

/** As the Worker that ships answers it. */
export async function openApi(): Promise<OpenApi> {
  const authenticator = () => "anybody";
  const app = createApp({ agents: [], authenticator, plans: planSupport(), transfer: transfers });
  const response = await app.request("http://localhost/openapi.json", {}, {});
  return (await response.json()) as OpenApi;
}

function pageOf({ info, paths, components }: OpenApi): string {
  const calls = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  );
  const byTag = Map.groupBy(calls, ({ operation }) => operation.tags[0]);
  const sections = [...byTag].map(
    ([tag, calls]) => `<section id="${tag}"><h2>${tag}</h2>${calls.map(callOf).join("")}</section>`,
  );
  const schemas = Object.entries(components.schemas).map(schemaOf);
  const links = [...byTag.keys(), "shapes"].map((tag) => `<li><a href="#${tag}">${tag}</a></li>`);
  return `<div class="docs">
<nav aria-label="Parts"><ul>${links.join("")}</ul></nav>
<main>
<h1>The HTTP interface</h1>
<p>${escaped(info.description)}</p>
<p class="docs-note">For programs: <a href="/openapi.json">/openapi.json</a>, an OpenAPI 3.1 document. <a href="/">Conversations</a></p>
${sections.join("\n")}
<section id="shapes"><h2>shapes</h2>${schemas.join("")}</section>
</main>
</div>`;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

function callOf({ method, path, operation }: Call): string {
  const { summary, parameters, requestBody, responses } = operation;
  const rows = [
    ...parameters
      .filter(({ in: where }) => where !== "path")
      .map(({ name, in: where, schema }) =>
        row(where === "query" ? `?${name}` : name, typed(schema)),
      ),
    ...Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) =>
      row("body", `${escaped(type)} ${typed(schema)}`),
    ),
    ...Object.entries(responses)
      .filter(([status]) => status !== "default")
      .flatMap(([status, { description, content }]) =>
        content === undefined
          ? [row(status, escaped(description))]
          : Object.entries(content).map(([type, { schema }]) =>
              row(status, `${escaped(type)} ${typed(schema)}`),
            ),
      ),
  ];
  return `<article>
<h3><span class="docs-method">${method.toUpperCase()}</span> ${escaped(path)}</h3>
<p>${escaped(summary)}</p>
<dl>${rows.join("")}</dl>
</article>`;
}

function schemaOf([name, schema]: readonly [string, JsonSchema]): string {
  const { properties = {}, required = [], description = "" } = schema;
  const rows = Object.entries(properties).map(([key, property]) =>
    row(required.includes(key) ? key : `${key}?`, typed(property)),
  );
  const whole = rows.length === 0 ? `<p><code>${escaped(typeOf(schema))}</code></p>` : "";
  return `<article id="${name}"><h3>${name}</h3><p>${escaped(description)}</p>${whole}<dl>${rows.join("")}</dl></article>`;
}

function row(term: string, html: string): string {
  return `<dt><code>${escaped(term)}</code></dt><dd>${html}</dd>`;
}

/** The type, with links to the shapes in it, and what is said of it. */
function typed(schema: JsonSchema): string {
  const type = escaped(typeOf(schema)).replaceAll(
    /#(\w+)/g,
    (_, name: string) => `<a href="#${name}">${name}</a>`,
  );
  const { description } = schema;
  const note =
    description === undefined ? "" : ` <span class="docs-note">${escaped(description)}</span>`;
  return `<code>${type}</code>${note}`;
}

/** As TypeScript would write it; `#Name` for a shape. */
function typeOf(schema: JsonSchema): string {
  const { $ref, type, enum: choices, anyOf, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) return `#${$ref.split("/").at(-1) ?? ""}`;
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (anyOf !== undefined) return anyOf.map((one) => typeOf(one)).join(" | ");
  if (type === "array") return `${parenthesized(typeOf(items ?? {}))}[]`;
  if (properties !== undefined) {
    const { required = [] } = schema;
    const fields = Object.entries(properties).map(
      ([name, property]) => `${name}${required.includes(name) ? "" : "?"}: ${typeOf(property)}`,
    );
    return `{ ${fields.join(", ")} }`;
  }
  if (typeof additionalProperties === "object") {
    return `{ [name]: ${typeOf(additionalProperties)} }`;
  }
  return typeof type === "string" ? type : (type?.join(" | ") ?? "any");
}

function parenthesized(type: string): string {
  return type.includes(" | ") ? `(${type})` : type;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
