import type { About } from "./bytes/content.ts";
import type { Visibility } from "./variable.ts";

const order: readonly Visibility[] = ["model", "sealed", "secret"];

/** The strictest: what is made of several values is guarded as the most guarded of them. */
export function guardOf(visibilities: Iterable<Visibility>): Visibility {
  let strictest = 0;
  for (const visibility of visibilities) strictest = Math.max(strictest, order.indexOf(visibility));
  return order[strictest] ?? "secret";
}

/** What may be said about a value that nobody may see: nothing that its content decides but its size. */
export function guarded(about: About, visibility: Visibility): About {
  return visibility === "secret" ? { ...about, shape: about.type, preview: "" } : about;
}
