import { Expander } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import type { Json } from "../../src/value/json.ts";
import { renderers, urlsOf } from "./markdown-renderers.ts";

/** A text that must not become a part of a URL. */
export const CANARY = "4711CANARY";

/** Returns the URLs of all renderers that contain the canary, except in the local part of an e-mail address. */
export function leaksIn(markdown: string): readonly string[] {
  return Object.entries(renderers).flatMap(([name, render]) =>
    urlsOf(render(markdown))
      .filter(({ url }) => url.replace(/^(mailto:)?[^@/?]*@/, "").includes(CANARY.toLowerCase()))
      .map(({ url }) => `${name}: ${url}`),
  );
}

/** Like `lookupIn`, but all values print as inert text. */
export function inert(variables: Readonly<Record<string, Json>>): Lookup {
  const lookup = lookupIn(variables);
  return async (reference) => {
    const answer = await lookup(reference);
    return answer.found ? { ...answer, inert: true } : answer;
  };
}

/** Returns the text with its references expanded. */
export async function shown(text: string, lookup: Lookup): Promise<string> {
  const expander = new Expander(lookup);
  let out = "";
  const emit = (piece: string) => void (out += piece);
  await expander.write(text, emit);
  await expander.flush(emit);
  return out;
}
