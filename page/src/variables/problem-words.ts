import { ClientError } from "../../../packages/client/src/client.ts";
import { isLost, messageOf, troubleOf } from "../words.ts";

/** Describes an error in a sentence. */
export function problemWords(error: unknown): string {
  return isLost(error) ? troubleOf(error).title : messageOf(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof ClientError ? error.code : undefined;
}
