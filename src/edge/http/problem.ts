import { codeOf, type ErrorCode, errorCodes, messageOf, publicMessageOf } from "../../errors.ts";
import { isObject } from "../../value/json.ts";
import { type FailurePlace, logIfFailure } from "../log-failure.ts";

/**
 * Creates an RFC 9457 problem document. `code` is stable; `details` become members, unless the error is internal. A
 * failure of the server is logged, and `instance` has the id of its line.
 */
export function problem(error: unknown, place: FailurePlace): Response {
  const message = messageOf(error);
  if (NO_SQL.test(message)) return problemOf("not_configured", SQL_CLASSES);
  if (OLDER_CODE.test(message)) return problemOf("unavailable", OLDER);
  const code = codeOf(error);
  const details = isObject(error) && isObject(error.details) ? error.details : {};
  const shown = code === "internal" ? {} : details;
  return problemOf(code, publicMessageOf(error), { ...shown, ...logIfFailure(error, place) });
}

/** The platform's own message, of an object whose class has no migration, or one for key-value classes. */
const NO_SQL = /SQL is not enabled for this Durable Object class/;
const SQL_CLASSES = `The classes of Byref need SQLite. List those that are bound in wrangler.toml:
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Conversation", "Directory", "Tables"]
A class that was deployed without it cannot be changed: give it another name.`;

/** The platform's own messages, of an object that a deploy has not reached yet. */
const OLDER_CODE =
  /^The RPC receiver does not implement the method|does not export a fetch\(\) function/;
export const OLDER =
  "This object still has the code of an earlier version, for some minutes after a deploy. Try again then.";

export function problemOf(
  code: ErrorCode,
  detail: string,
  details: Readonly<Record<string, unknown>> = {},
): Response {
  const { status, title } = errorCodes[code];
  const body = { ...details, type: `urn:byref:${code}`, title, status, detail, code };
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (status === 401) headers.set("www-authenticate", "Bearer");
  if (status === 429 || status === 503) {
    // Seconds; not a number for a spend limit that is not renewed: trying again does not help.
    const renewal = Math.ceil((Date.parse(String(details.renewsAt)) - Date.now()) / 1_000);
    const seconds = code === "spend_exceeded" ? Math.max(1, renewal) : 5;
    if (!Number.isNaN(seconds)) headers.set("retry-after", String(seconds));
  }
  return new Response(JSON.stringify(body), { status, headers });
}
