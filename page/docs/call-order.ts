/** Data that `api-page.ts` writes next to each call. */
export interface TriedCall {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  /** Media types of the request's body; empty if it has no body. */
  readonly types: readonly string[];
  /** Media types of the response. */
  readonly accepts: readonly string[];
  readonly body: string;
}

/** Calls in the order in which people need them, with an example body. Calls that are not listed come last. */
export const CALLS = String.raw`
GET /agents
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
POST /conversations {"id": "first-try", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What is the weather in London?"}]}]}
`
  .trim()
  .split("\n")
  .map((line) => /^(\S+ \S+) ?(.*)$/.exec(line)?.slice(1) ?? []);

/** Sections in the order in which people need them. */
export const TAGS = ["turns", "variables", "files", "conversations", "plans", "programs", "worker"];

/** Calls that a text field cannot make: a socket, and a file in parts. */
export const UNTRIED: ReadonlySet<string> = new Set([
  "GET /conversations/{id}/socket",
  "POST /conversations/import",
]);
