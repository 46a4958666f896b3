/** The file with the model's code in the dynamic Worker; errors name lines in it. */
export const CODE_FILE = "code.js";
/** Lines before the model's code. */
export const LINES_BEFORE_CODE = 1;

/** The model's code as a module. A separate block lets it redeclare the names that it receives. */
export function codeModule(code: string, names: readonly string[]): string {
  const parameters = ["tools", "vars", "console", ...names].join(", ");
  return `export default async function (${parameters}) {{\n${code}\n}}\n`;
}

/**
 * The main module of the dynamic Worker. It is a convenience, not a safety boundary: the code runs in the
 * same isolate and can undo all of it. Safety comes from the isolate, which has no network and no bindings.
 */
export const HARNESS = `
import { WorkerEntrypoint } from "cloudflare:workers";

const MAX_CONSOLE_CHARS = 20000;

Reflect.deleteProperty(globalThis, "caches");

function jsonOf(value) {
  const open = [];
  const text = JSON.stringify(value, function (key, inner) {
    const raw = this[key];
    if (raw === null || typeof raw !== "object") {
      return typeof inner === "bigint" ? inner.toString() : inner;
    }
    while (open.length > 0 && open.at(-1) !== this) open.pop();
    if (open.includes(raw)) throw new TypeError("The value contains itself: it cannot be kept.");
    if (ArrayBuffer.isView(raw) || raw instanceof ArrayBuffer) {
      throw new TypeError("Bytes cannot be kept: return JSON, such as an array or Base64 text.");
    }
    if (raw instanceof Promise) throw new TypeError("A promise cannot be kept: await it.");
    if (inner === raw) inner = plain(raw);
    if (inner !== null && typeof inner === "object") open.push(inner);
    return inner;
  });
  if (text === undefined && value !== undefined) {
    throw new TypeError("A " + typeof value + " cannot be kept: return JSON.");
  }
  return text;
}

function plain(value) {
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return { name: String(value.name), message: String(value.message) };
  return value;
}

function written(value) {
  if (value === null || typeof value !== "object") return String(value);
  try {
    if (value instanceof Error) return String(value);
    return jsonOf(value) ?? "undefined";
  } catch {
    return "[" + typeof value + "]";
  }
}

function capture() {
  const lines = [];
  let left = MAX_CONSOLE_CHARS;
  const write = (...values) => {
    if (left <= 0) return;
    const line = values.map(written).join(" ").slice(0, left);
    left -= line.length + 1;
    lines.push(line);
  };
  const methods = ["log", "info", "warn", "error", "debug", "trace", "dir", "table"];
  const own = Object.fromEntries(methods.map((name) => [name, write]));
  const silent = () => undefined;
  const console = new Proxy(own, { get: (_, name) => own[name] ?? silent });
  return { console, text: () => lines.join("\\n") };
}

function failure(thrown) {
  try {
    const isError = thrown instanceof Error;
    const said = isError ? String(thrown) : "Thrown: " + written(thrown);
    const stack = isError && typeof thrown.stack === "string" ? thrown.stack : "";
    const line = /\\bcode\\.js:(\\d+)/.exec(stack)?.[1];
    return { message: said.slice(0, 10000), ...(line === undefined ? {} : { line: Number(line) }) };
  } catch {
    return { message: "Thrown: something that cannot be read" };
  }
}

async function settled(answer) {
  const { text, error } = await answer;
  if (error !== undefined) throw new Error(error);
  return JSON.parse(text);
}

function largeValue(host, name, about) {
  const read = (path = "") => settled(host.read(name, String(path)));
  const slice = (from, to) => read("[" + (from ?? "") + ":" + (to ?? "") + "]");
  return Object.freeze({ ...about, read, slice });
}

export default class extends WorkerEntrypoint {
  async run(host, job) {
    const { console, text } = capture();
    globalThis.console = console;
    const vars = Object.create(null);
    const call = (name) => async (input = {}) => settled(host.call(name, jsonOf(input) ?? "{}"));
    const tools = new Proxy(Object.create(null), {
      get: (_, name) => (typeof name === "string" && name !== "then" ? call(name) : undefined),
    });
    const values = job.values.map(([, value]) => JSON.parse(value));
    const large = job.large.map(([name, about]) => largeValue(host, name, JSON.parse(about)));
    try {
      const { default: body } = await import("./code.js");
      const returned = jsonOf(await body(tools, vars, console, ...values, ...large));
      const assigned = Object.entries(vars).flatMap(([name, value]) => {
        const json = jsonOf(value);
        return json === undefined ? [] : [[name, json]];
      });
      return { ...(returned === undefined ? {} : { returned }), assigned, console: text() };
    } catch (thrown) {
      return { assigned: [], console: text(), error: failure(thrown) };
    }
  }
}
`;
