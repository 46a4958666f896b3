import { type ChangeEvent, useState } from "react";
import { createRoot } from "react-dom/client";
import { storedKey, storeKey } from "../src/session.ts";
import type { TriedCall } from "./call-order.ts";

/** Maximum length of a shown response. A stream may never end. */
const MAX_SHOWN_CHARS = 20_000;

type Values = Readonly<Record<string, string>>;

const DEFAULTS: Values = {
  id: "first-try",
  name: "get_weather_nyc",
  path: "notes/first.txt",
};

interface TriedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Values;
  /** Undefined for a request without a body. */
  readonly body: string | undefined;
}

/** The form of a call: its parameters, the shell command, and the response of this server. */
function TryCall({ call }: { readonly call: TriedCall }) {
  const { method, path, query, types, accepts } = call;
  const [first = ""] = types;
  const choices = { "content-type": first, accept: accepts[0] ?? "", body: call.body };
  const [values, setValues] = useState<Values>({ ...DEFAULTS, ...choices });
  const [answer, setAnswer] = useState<string>();
  const [running, setRunning] = useState<AbortController>();
  const params = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
  const request = requestOf(call, values);
  const bound = (name: string) => ({
    value: values[name] ?? "",
    onChange: ({
      target,
    }: ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>) =>
      setValues({ ...values, [name]: target.value }),
  });
  const choice = (name: string, options: readonly string[]) =>
    options.length > 1 && (
      <label>
        {name}
        <select {...bound(name)}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
    );
  const send = async () => {
    running?.abort();
    const controller = new AbortController();
    setRunning(controller);
    await read(request, controller.signal, setAnswer);
    setRunning((last) => (last === controller ? undefined : last));
  };
  return (
    <>
      {[...params, ...query.map((name) => `?${name}`)].map((name) => (
        <label key={name}>
          {name}
          <input spellCheck={false} autoComplete="off" {...bound(name)} />
        </label>
      ))}
      {choice("content-type", types)}
      {choice("accept", accepts)}
      {types.length > 0 && (
        <label>
          Body
          <textarea rows={3} aria-label="Body" {...bound("body")} />
        </label>
      )}
      <pre className="docs-curl" tabIndex={0} aria-label="As a curl command">
        {curlOf(request)}
      </pre>
      <button type="button" onClick={() => void send()}>
        Send {method}
      </button>
      {running && (
        <button type="button" onClick={() => running.abort()}>
          Stop
        </button>
      )}
      {answer !== undefined && (
        <pre className="docs-answer" tabIndex={0} role="log" aria-label="Answer">
          {answer}
        </pre>
      )}
    </>
  );
}

function requestOf(
  { method, path, query, types, accepts }: TriedCall,
  values: Values,
): TriedRequest {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const text = values[name] ?? "";
    // Only the path of a file has several segments.
    const segments = name === "path" ? text.split("/") : [text];
    return segments.map(encodeURIComponent).join("/");
  });
  const url = new URL(filled, location.origin);
  for (const name of query) {
    const value = values[`?${name}`] ?? "";
    if (value !== "") url.searchParams.set(name, value);
  }
  const { accept = "", body = "", "content-type": type = "" } = values;
  const hasBody = types.length > 0 && body.trim() !== "";
  const headers = {
    ...(hasBody ? { "content-type": type } : {}),
    ...(accepts.length > 1 ? { accept } : {}),
  };
  return { method, url: url.href, headers, body: hasBody ? body : undefined };
}

/** Formats the request as a shell command. It does not contain the key: the shell reads it from `$BYREF_KEY`. */
function curlOf({ method, url, headers, body }: TriedRequest): string {
  const parts = ["curl", quoted(url)];
  if (method !== (body === undefined ? "GET" : "POST")) parts.push("-X", method);
  if (storedKey() !== undefined) parts.push("-H", '"authorization: Bearer $BYREF_KEY"');
  for (const header of Object.entries(headers)) parts.push("-H", quoted(header.join(": ")));
  if (body !== undefined) parts.push("--data-binary", quoted(body));
  return parts.join(" ");
}

/** Within single quotes, the quote itself is the only special character. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Sends the request, and shows its response as it arrives. */
async function read(
  { url, method, headers, body }: TriedRequest,
  signal: AbortSignal,
  show: (text: string) => void,
): Promise<void> {
  const key = storedKey();
  const auth = key === undefined ? {} : { authorization: `Bearer ${key}` };
  let text = "";
  show("…");
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...auth },
      body: body ?? null,
      signal,
    });
    text = `${response.status} ${response.headers.get("content-type") ?? ""}\n\n`;
    show(text);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value = "", done } = (await reader?.read()) ?? { done: true };
      if (done) return;
      show((text += value));
      if (text.length <= MAX_SHOWN_CHARS) continue;
      show(`${text.slice(0, MAX_SHOWN_CHARS)}\n… The rest is not shown.`);
      return await reader?.cancel();
    }
  } catch (error) {
    show(`${text}\n${signal.aborted ? "Stopped." : String(error)}`);
  }
}

const field = document.querySelector<HTMLInputElement>("#docs-key");
if (field !== null) {
  field.value = storedKey() ?? "";
  field.addEventListener("input", () => storeKey(field.value.trim() || undefined));
}

for (const details of document.querySelectorAll<HTMLElement>("details[data-call]")) {
  const show = () => {
    // Written by `api-page.ts`.
    const call = JSON.parse(details.dataset["call"] ?? "{}") as TriedCall;
    const form = document.createElement("div");
    details.append(form);
    createRoot(form).render(<TryCall call={call} />);
  };
  details.addEventListener("toggle", show, { once: true });
}
