import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import type { StoredMessage } from "./history.ts";

/** A conversation's title if nobody gave it one: how its first message begins, as the person typed it. */
export function titleOf({ parts, display }: StoredMessage): string | undefined {
  const texts = display ?? parts.map((part) => (part.type === "text" ? part.text : ""));
  // More than is kept, for what the spaces take.
  const start = clip(texts.join(" ").trim(), 2 * limits.maxTitleChars);
  const title = clip(start.replace(/\s+/gu, " "), limits.maxTitleChars).trim();
  return title === "" ? undefined : title;
}
