import { codeOf, errorCodes, messageOf } from "../errors.ts";
import { nameIn, type ObjectContext } from "./conversation-of.ts";

export interface FailurePlace {
  readonly tenant?: string | undefined;
  readonly conversation?: string | undefined;
  /** Method and route of the request, without its parameters; or the name of work without a request. */
  readonly request: string;
}

/**
 * Logs the error if it is a failure of the server, and returns the id of the line as `instance` of a problem
 * document. Other problems are the caller's, or another server's.
 */
export function logIfFailure(error: unknown, place: FailurePlace): { readonly instance?: string } {
  const code = codeOf(error);
  const isFailure = errorCodes[code].status === 500 || code === "storage_full";
  return isFailure ? { instance: `urn:uuid:${logFailure(error, place)}` } : {};
}

/**
 * Logs a failure as one line of JSON, and returns its id. The line has no message, because messages may quote
 * values: the cause is the error's class, with the places in the code that it passed.
 */
export function logFailure(error: unknown, { tenant, conversation, request }: FailurePlace) {
  const id = crypto.randomUUID();
  const platform = PLATFORM_CODE.exec(messageOf(error))?.[0];
  const cause = { name: classOf(error), platform, at: framesOf(error) };
  const code = codeOf(error);
  const at = new Date().toISOString();
  const line = { event: "failed", id, at, code, tenant, conversation, request, cause };
  console.error(JSON.stringify(line));
  return id;
}

/** The place of work in a conversation's object. */
export function placeIn({ state }: Pick<ObjectContext, "state">, request: string): FailurePlace {
  const { tenant, conversation } = nameIn(state.id.name);
  return { tenant, conversation, request };
}

/** The constructor's name: a `name` can be set to any text. */
function classOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { name } = error.constructor;
  return /^\w{1,100}$/u.test(name) ? name : "Error";
}

/** What the platform's errors say, which have no places: SQLite's code, or the reference of an internal error. */
const PLATFORM_CODE =
  /\bSQLITE_(?:BUSY|CANTOPEN|CORRUPT|ERROR|FULL|IOERR|NOMEM|READONLY|TOOBIG)\b|\breference = [a-z0-9]{8,40}\b/u;

/** The innermost places of the stack. The message is part of the stack, and may have lines that look like places. */
function framesOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || typeof error.stack !== "string") return [];
  const { stack, message } = error;
  const at = stack.indexOf(message);
  const frames = at < 0 ? "" : stack.slice(at + message.length);
  return frames
    .split("\n")
    .flatMap((line) => FRAME.exec(line)?.[1] ?? [])
    .slice(0, MAX_FRAMES);
}

const FRAME = /^\s+at ([\w$.<># []*\(?[\w@:/.+-]{1,300}:\d+:\d+\)?)$/u;
const MAX_FRAMES = 8;
