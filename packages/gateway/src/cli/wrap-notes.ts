import { filtersIn } from "../tool-filter.ts";
import { SECRET_NAME, secretsIn } from "../../../mcp/src/secrets.ts";
import { json } from "../../../../src/internal.ts";

/** Returns what a user should know about a server that the gateway is put in front of, a sentence or two each. */
export function notesOn(name: string, entry: unknown, copy: string): readonly string[] {
  return [...notesOnAddress(name, entry, copy), ...notesOnTools(name, entry, copy)];
}

/** Keys that let tools run without a question: Roo, Cline and Kiro, Gemini CLI. */
const APPROVALS = ["alwaysAllow", "autoApprove", "trust"];

function notesOnTools(name: string, entry: unknown, copy: string): readonly string[] {
  const filters = Object.keys(filtersIn(entry)).map(
    (key) => `${name}: its "${key}" applies behind the gateway, too; change it in ${copy}.`,
  );
  const { ...all } = json.isObject(entry) ? entry : {};
  const approvals = APPROVALS.flatMap((key) => {
    const value = all[key];
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0))
      return [];
    const isAll = value === true || (Array.isArray(value) && value.includes("*"));
    const what = isAll ? "all its tools" : "tools of it";
    const caution = isAll ? ", which allows those of all servers behind it" : "";
    const line = `"${key}": ${JSON.stringify(value)}`;
    return [
      `${name}: the client asks again before it runs ${what}. To change that, write ${line} into the gateway's entry${caution}.`,
    ];
  });
  return [...filters, ...approvals];
}

function notesOnAddress(name: string, entry: unknown, copy: string): readonly string[] {
  const { url, type, headers } = json.isObject(entry) ? entry : {};
  if (typeof url !== "string") return [];
  const isSse = type === undefined && /\/sse\/?(?:[?#]|$)/u.test(url);
  return [
    ...(LOOPBACK.test(url) || hasToken(url, headers)
      ? []
      : [
          `${name}: the gateway cannot sign in to a server. If this one asks for it, put a token into its "headers" in ${copy}, or run unwrap and wrap with --except ${name}.`,
        ]),
    ...(isSse
      ? [
          `${name}: it has no "type", and its address ends with /sse. The gateway tries streamable HTTP, then SSE, as clients do.`,
        ]
      : []),
  ];
}

function hasToken(url: string, headers: unknown): boolean {
  const names = Object.keys(json.isObject(headers) ? headers : {});
  return names.some((name) => SECRET_NAME.test(name)) || secretsIn([["", url]]).length > 0;
}

const LOOPBACK = /^https?:\/\/(?:localhost|127\.|\[::1\])/iu;
