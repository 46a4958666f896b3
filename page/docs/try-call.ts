import type { TriedCall } from "./call-order.ts";
import { curlOf, type TriedRequest } from "./curl.ts";

/** Maximum length of a shown response. A stream may never end. */
const MAX_SHOWN_CHARS = 20_000;
const KEY = "byref-key";

const DEFAULTS: Readonly<Record<string, string>> = {
  id: "first-try",
  name: "get_weather_nyc",
  path: "notes/first.txt",
};

/** Builds the form of a call: its parameters, the shell command, and the response of this server. */
export function tryCall(call: TriedCall, into: HTMLElement): void {
  const params = Array.from(call.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
  const fields = [
    ...params.map((name) => fieldOf(name, DEFAULTS[name] ?? "")),
    ...call.query.map((name) => fieldOf(`?${name}`, "")),
  ];
  const type = choiceOf("content-type", call.types);
  const accept = choiceOf("accept", call.accepts);
  const body = element("textarea", { rows: 3, value: call.body, ariaLabel: "Body" });
  const curl = element("pre", {
    className: "docs-curl",
    tabIndex: 0,
    ariaLabel: "As a curl command",
  });
  const send = element("button", { type: "button", textContent: `Send ${call.method}` });
  const stop = element("button", { type: "button", textContent: "Stop", hidden: true });
  const answer = element("pre", { className: "docs-answer", tabIndex: 0, hidden: true });
  answer.setAttribute("role", "log");
  answer.ariaLabel = "Answer";
  const request = (): TriedRequest => requestOf(call, { fields, type, accept, body });
  const show = () => {
    curl.textContent = curlOf(request(), sessionStorage.getItem(KEY) !== null);
  };
  let running: AbortController | undefined;
  const run = async () => {
    running?.abort();
    running = new AbortController();
    stop.hidden = false;
    answer.hidden = false;
    await write(answer, request(), running.signal);
    stop.hidden = true;
  };
  send.addEventListener("click", () => void run());
  stop.addEventListener("click", () => running?.abort());
  into.addEventListener("input", show);
  const withBody = call.types.length > 0;
  into.append(
    ...fields.map(({ label }) => label),
    ...(call.types.length > 1 ? [type.label] : []),
    ...(call.accepts.length > 1 ? [accept.label] : []),
    ...(withBody ? [labelled("Body", body)] : []),
    curl,
    send,
    stop,
    answer,
  );
  show();
}

interface Fields {
  readonly fields: readonly Field[];
  readonly type: Field;
  readonly accept: Field;
  readonly body: HTMLTextAreaElement;
}

function requestOf(call: TriedCall, { fields, type, accept, body }: Fields): TriedRequest {
  const given = new Map(fields.map(({ name, control }) => [name, control.value]));
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const text = given.get(name) ?? "";
    // Only the path of a file has several segments.
    return name === "path"
      ? text.split("/").map(encodeURIComponent).join("/")
      : encodeURIComponent(text);
  });
  const url = new URL(path, location.origin);
  for (const name of call.query) {
    const value = given.get(`?${name}`) ?? "";
    if (value !== "") url.searchParams.set(name, value);
  }
  const hasBody = call.types.length > 0 && body.value.trim() !== "";
  return {
    method: call.method,
    url: url.href,
    headers: {
      ...(hasBody ? { "content-type": type.control.value } : {}),
      ...(call.accepts.length > 1 ? { accept: accept.control.value } : {}),
    },
    body: hasBody ? body.value : undefined,
  };
}

async function write(to: HTMLElement, request: TriedRequest, signal: AbortSignal): Promise<void> {
  const { url, method, headers, body } = request;
  const key = sessionStorage.getItem(KEY);
  const auth = key === null ? {} : { authorization: `Bearer ${key}` };
  to.textContent = "…";
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...auth },
      signal,
      ...(body === undefined ? {} : { body }),
    });
    to.textContent = `${response.status} ${response.headers.get("content-type") ?? ""}\n\n`;
    const parts = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = (await parts?.read()) ?? { value: undefined, done: true };
      if (done || value === undefined) return;
      to.textContent += value;
      if (to.textContent.length > MAX_SHOWN_CHARS) {
        to.textContent = `${to.textContent.slice(0, MAX_SHOWN_CHARS)}\n… The rest is not shown.`;
        return await parts?.cancel();
      }
    }
  } catch (error) {
    to.textContent += signal.aborted ? "\nStopped." : `\n${String(error)}`;
  }
}

interface Field {
  readonly name: string;
  readonly control: HTMLInputElement | HTMLSelectElement;
  readonly label: HTMLElement;
}

function fieldOf(name: string, value: string): Field {
  const control = element("input", { value, spellcheck: false, autocomplete: "off" });
  return { name, control, label: labelled(name, control) };
}

function choiceOf(name: string, values: readonly string[]): Field {
  const control = element("select", {});
  control.append(...values.map((value) => element("option", { textContent: value })));
  return { name, control, label: labelled(name, control) };
}

function labelled(name: string, control: HTMLElement): HTMLElement {
  const label = element("label", { textContent: name });
  label.append(control);
  return label;
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]>,
): HTMLElementTagNameMap[Tag] {
  return Object.assign(document.createElement(tag), properties);
}
