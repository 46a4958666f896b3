import type { TriedCall } from "./call-order.ts";
import { tryCall } from "./try-call.ts";

const KEY = "byref-key";

const field = document.querySelector<HTMLInputElement>("#docs-key");
if (field !== null) {
  field.value = sessionStorage.getItem(KEY) ?? "";
  field.addEventListener("input", () => {
    const key = field.value.trim();
    if (key === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, key);
  });
}

for (const details of document.querySelectorAll<HTMLElement>("details[data-call]")) {
  details.addEventListener(
    "toggle",
    // Written by `api-page.ts`.
    () => tryCall(JSON.parse(details.dataset["call"] ?? "{}") as TriedCall, details),
    { once: true },
  );
}
