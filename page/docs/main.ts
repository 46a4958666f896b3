import { beginningOf, storedKey, storeKey } from "../src/session.ts";

/** Maximum length of a shown response. A stream may never end. */
const MAX_SHOWN_CHARS = 20_000;

interface TriedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a request without a body. */
  readonly body: string | null;
}

/** Reads the request from the form of a call, which `api-page.ts` writes. */
function requestIn(form: HTMLFormElement): TriedRequest {
  const given = new FormData(form);
  const valueOf = (name: string) => String(given.get(name) ?? "");
  const { method = "", path = "" } = form.dataset;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    // Only the path of a file has several segments.
    const segments = name === "path" ? valueOf(name).split("/") : [valueOf(name)];
    return segments.map(encodeURIComponent).join("/");
  });
  const url = new URL(filled, location.origin);
  for (const [name, value] of given) {
    if (name.startsWith("?") && value !== "") url.searchParams.set(name.slice(1), String(value));
  }
  const body = valueOf("body").trim() === "" ? null : valueOf("body");
  const headers = {
    ...(body === null ? {} : { "content-type": valueOf("content-type") }),
    ...(given.has("accept") ? { accept: valueOf("accept") } : {}),
  };
  return { method, url: url.href, headers, body };
}

/** Formats the request as a shell command. It does not contain the key: the shell reads it from `$BYREF_KEY`. */
function curlOf({ method, url, headers, body }: TriedRequest): string {
  const parts = ["curl", quoted(url)];
  if (method !== (body === null ? "GET" : "POST")) parts.push("-X", method);
  if (storedKey() !== undefined) parts.push("-H", '"authorization: Bearer $BYREF_KEY"');
  for (const header of Object.entries(headers)) parts.push("-H", quoted(header.join(": ")));
  if (body !== null) parts.push("--data-binary", quoted(body));
  return parts.join(" ");
}

/** Within single quotes, the quote itself is the only special character. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Sends the request, and shows its response as it arrives. */
async function read(
  { url, headers, ...init }: TriedRequest,
  signal: AbortSignal,
  show: (text: string) => void,
): Promise<void> {
  const key = storedKey();
  const auth = key === undefined ? {} : { authorization: `Bearer ${key}` };
  let text = "";
  show("…");
  try {
    const response = await fetch(url, { ...init, headers: { ...headers, ...auth }, signal });
    const head = `${response.status} ${response.headers.get("content-type") ?? ""}\n\n`;
    show((text = head));
    const { isWhole } = await beginningOf(response, MAX_SHOWN_CHARS, (arrived) =>
      show((text = head + arrived)),
    );
    if (!isWhole) show(`${text}\n… The rest is not shown.`);
  } catch (error) {
    show(`${text}\n${signal.aborted ? "Stopped." : String(error)}`);
  }
}

const field = document.querySelector<HTMLInputElement>("#docs-key");
if (field !== null) {
  field.value = storedKey() ?? "";
  field.addEventListener("input", () => storeKey(field.value.trim() || undefined));
}

for (const form of document.querySelectorAll("form")) {
  const [curl, answer] = form.querySelectorAll("pre");
  const [, stop] = form.querySelectorAll("button");
  if (curl === undefined || answer === undefined || stop === undefined) continue;
  let running = new AbortController();
  const write = () => (curl.textContent = curlOf(requestIn(form)));
  const send = async () => {
    running.abort();
    const own = (running = new AbortController());
    stop.hidden = answer.hidden = false;
    await read(requestIn(form), own.signal, (text) => (answer.textContent = text));
    if (running === own) stop.hidden = true;
  };
  write();
  // Also when the key is entered.
  document.addEventListener("input", write);
  stop.addEventListener("click", () => running.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send();
  });
}
