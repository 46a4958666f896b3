import type { Plugin } from "vite";
import { createApp } from "../src/edge/app.ts";
import type { JsonSchema, OpenApi, OpenApiOperation } from "../src/edge/openapi/document.ts";
import { fileEndpoints } from "../src/edge/routes/files.ts";
import { planSupport } from "../packages/plans/src/http/plan-support.ts";
import { queries } from "../packages/query/src/object/queries.ts";
import { transfers } from "../packages/transfer/src/transfers.ts";

/** Calls in the order in which people need them, as are the sections then, with an example body. Others come last. */
const CALLS = String.raw`
POST /conversations/{id}/messages {"message": "What is the weather in NYC?"}
GET /conversations/{id}/messages
POST /conversations/{id}/approvals/{approval} {"approved": true}
GET /conversations/{id}/variables
GET /conversations/{id}/variables/{name}
PUT /conversations/{id}/variables/{name} [{"city": "Oslo", "total": 3}, {"city": "Rome", "total": 4}]
GET /conversations/{id}/variables/{name}/info
PATCH /conversations/{id}/variables/{name} {"pinned": true}
POST /conversations/{id}/interpolate {"text": "The value: $get_weather_nyc.temperature"}
POST /conversations/{id}/query {"sql": "SELECT * FROM get_weather_nyc"}
PUT /conversations/{id}/files/{path} The totals are in $totals.
GET /conversations/{id}/files
GET /conversations/{id}/files/{path}
DELETE /conversations/{id}/files/{path}
GET /conversations
GET /conversations/{id}
PATCH /conversations/{id} {"title": "A first try"}
GET /conversations/{id}/events
POST /conversations/{id}/fork
GET /conversations/{id}/export
POST /conversations/{id}/tickets {"path": "/conversations/first-try/export"}
POST /conversations/{id}/plans {"calls": [{"_id": "weather", "_tool": "get_weather", "_outputPath": "†state.weather", "location": "NYC"}]}
GET /conversations/{id}/plans
GET /conversations/{id}/plans/{plan}
POST /conversations/{id}/plans/{plan}/approve
POST /conversations/{id}/plans/{plan}/run {}
PUT /programs/{program} {"conversation": "first-try", "from": "$get_weather_nyc"}
POST /programs/{program}/runs {"input": {}}
GET /programs/{program}/runs
GET /agents
POST /conversations {"id": "first-try", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What is the weather in London?"}]}]}
`
  .trim()
  .split("\n")
  .map((line) => /^(\S+ \S+) ?(.*)$/.exec(line)?.slice(1) ?? []);

/** Calls that a text field cannot make: a socket, and a file in parts. */
const UNTRIED: ReadonlySet<string> = new Set([
  "GET /conversations/{id}/socket",
  "POST /conversations/import",
]);

/** Puts every call of the HTTP interface into `docs/index.html`, from the OpenAPI document. */
export function apiPage() {
  return {
    name: "api-page",
    async transformIndexHtml(html: string, { path }: { readonly path: string }) {
      if (!path.includes("docs/")) return html;
      return html.replace("<!-- calls -->", pageOf(await openApi()));
    },
  } satisfies Plugin;
}

/** Returns the OpenAPI document of the Worker that ships. */
export async function openApi(): Promise<OpenApi> {
  const app = createApp({
    agents: [],
    authenticator: () => "anybody",
    plans: planSupport(),
    transfer: transfers,
    files: fileEndpoints,
    queries,
  });
  const response = await app.request("http://localhost/openapi.json", {}, {});
  return (await response.json()) as OpenApi;
}

function pageOf({ info, paths, components }: OpenApi): string {
  const calls = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  );
  calls.sort((one, other) => placeOf(one) - placeOf(other));
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
<p class="docs-note">Calls are in the order in which they are needed, and can be tried here, on this server. They change its data; the conversation <code>first-try</code> is only for this.</p>
<p><label class="docs-key">Key, where this server requires one <input id="docs-key" type="password" autocomplete="current-password"></label></p>
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
  const inputs = parameters.filter(({ in: where }) => where !== "path");
  const bodies = Object.entries(requestBody?.content ?? {});
  const answers = Object.entries(responses).filter(([status]) => status !== "default");
  const rows = [
    ...inputs.map(({ name, in: where, schema }) =>
      row(where === "query" ? `?${name}` : name, typed(schema)),
    ),
    ...bodies.map(([type, { schema }]) => row("body", `${escaped(type)} ${typed(schema)}`)),
    ...answers.flatMap(([status, { description, content }]) =>
      content === undefined
        ? row(status, escaped(description))
        : Object.entries(content).map(([type, { schema }]) =>
            row(status, `${escaped(type)} ${typed(schema)}`),
          ),
    ),
  ];
  const call = `${method.toUpperCase()} ${path}`;
  return `<article>
<h3><span class="docs-method">${method.toUpperCase()}</span> ${escaped(path)}</h3>
<p>${escaped(summary)}</p>
<dl>${rows.join("")}</dl>
${UNTRIED.has(call) ? "" : formOf({ method, path, operation })}
</article>`;
}

/** What is in the fields of a form at first. */
const FIELDS: Readonly<Record<string, string>> = {
  id: "first-try",
  name: "get_weather_nyc",
  path: "notes/first.txt",
};

/** The form that tries a call. `docs/main.ts` writes the shell command and the answer. */
function formOf({ method, path, operation }: Call): string {
  const { parameters, requestBody, responses } = operation;
  const call = `${method.toUpperCase()} ${path}`;
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
  const inQuery = parameters.filter((one) => one.in === "query").map(({ name }) => `?${name}`);
  const fields = [...inPath, ...inQuery].map(
    (name) =>
      `<label>${name} <input name="${name}" value="${FIELDS[name] ?? ""}" spellcheck="false" autocomplete="off"></label>`,
  );
  const answers = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status === "default" ? [] : Object.keys(content),
  );
  const accepts = [...new Set(answers)].filter((type) => type !== "*/*");
  const types = typesOf(Object.keys(requestBody?.content ?? {}));
  const body = CALLS.find(([known]) => known === call)?.[1] ?? "";
  const bodyField = `<label>Body <textarea name="body" rows="3" aria-label="Body">${escaped(body)}</textarea></label>`;
  return `<details class="docs-try"><summary>Try ${escaped(call)}</summary>
<form data-method="${method.toUpperCase()}" data-path="${escaped(path)}">
${fields.join("\n")}
${choiceOf("content-type", types)}
${accepts.length > 1 ? choiceOf("accept", accepts) : ""}
${types.length === 0 ? "" : bodyField}
<pre class="docs-curl" tabindex="0" aria-label="As a curl command"></pre>
<button>Send ${method.toUpperCase()}</button>
<button type="button" hidden>Stop</button>
<pre class="docs-answer" tabindex="0" role="log" aria-label="Answer" hidden></pre>
</form></details>`;
}

function choiceOf(name: string, options: readonly string[]): string {
  if (options.length === 0) return "";
  const all = options.map((option) => `<option>${escaped(option)}</option>`);
  const hidden = options.length === 1 ? " hidden" : "";
  return `<label${hidden}>${name} <select name="${name}">${all.join("")}</select></label>`;
}

/** Media types to choose from. If a call accepts any type, returns two that a text field can contain. */
function typesOf(types: readonly string[]): readonly string[] {
  const named = types.filter((type) => type !== "*/*");
  return types.length > 0 && named.length === 0 ? ["text/plain", "application/json"] : named;
}

/** Returns the position of a call on the page. */
function placeOf({ method, path }: Pick<Call, "method" | "path">): number {
  const place = CALLS.findIndex(([call]) => call === `${method.toUpperCase()} ${path}`);
  return place === -1 ? CALLS.length : place;
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

/** Formats the type, with links to named schemas, and its description. */
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

/** Formats a type like TypeScript; `#Name` for a named schema. */
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
