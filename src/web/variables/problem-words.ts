import { ClientError } from "../../client.ts";

/** What has gone wrong, in a sentence. */
export function problemWords(error: unknown): string {
  if (error instanceof ClientError && error.code === "unreachable") {
    return "The server cannot be reached.";
  }
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof ClientError ? error.code : undefined;
}
