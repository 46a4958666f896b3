import { retryConflicts } from "../../store/retry-conflicts.ts";
import { ByrefError, codeOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { storedAs } from "../../store/bytes/content.ts";
import type { ReadingOptions } from "../../store/bytes/receive.ts";
import type { Write } from "../../store/variable-store.ts";
import type { VariableStore } from "../../store/variables.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { isExtension } from "../../store/write-mode.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import { type Conditions, requireConditions } from "../http/request-headers.ts";
import { mediaTypeOf, unsupportedType } from "../http/read-body.ts";
import { etagOf, guardsIn } from "./etags.ts";
import { untilEnd } from "../http/client-body.ts";

interface PutRequest {
  /** Empty: the next automatic one. */
  readonly name: string;
  readonly request: Request;
  readonly options: Omit<Write, "value" | "name">;
  readonly conditions?: Conditions;
  /** How to read it if it is a CSV. */
  readonly reading?: ReadingOptions;
}

type Put = { readonly info: VariableInfo; readonly isNew: boolean };

/**
 * Runs a write that a deletion of the conversation stops. Creates the conversation if it does not exist; a
 * rejected first write creates none.
 */
export async function writing<Result>(
  context: ConversationContext,
  write: (data: ConversationData, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { deletion } = context;
  try {
    return await deletion.stoppably((signal) => write(context.wake(), signal));
  } finally {
    const isUnused = context.data?.isEmpty === true && deletion.isIdle;
    await (isUnused ? deletion.start() : context.settle());
  }
}

/**
 * Saves the request's body as the variable's value, completely or not at all. The conditions are checked
 * twice: before the body is received, to save the transfer, and in the commit. Creates the conversation if it does not
 * exist.
 */
export function putValue(context: ConversationContext, put: PutRequest): Promise<Put> {
  return writing(context, ({ store }, signal) => putVariable(store, put, signal));
}

async function putVariable(
  store: VariableStore,
  { name, request, options, conditions = {}, reading = {} }: PutRequest,
  signal: AbortSignal,
): Promise<Put> {
  const guards = guardsIn(conditions);
  const check = () => {
    // Only the run itself changes its variables.
    if (store.glance(name)?.run !== undefined) {
      throw new ByrefError("conflict", `${name} belongs to a run; choose another name.`);
    }
    const info = options.mode === "new" ? undefined : store.info(name);
    requireConditions(guards, info === undefined ? undefined : etagOf(info));
    return info === undefined;
  };
  check();
  const type = storedType(request);
  const body = untilEnd(request, signal);
  const isSecret = [options.visibility, store.glance(name)?.visibility].includes("secret");
  let content;
  try {
    content =
      (await store.receiveRecords(body, type, reading)) ?? (await store.receive(body, type));
  } catch (error) {
    throw refusal(error, isSecret);
  }
  const write: Write = {
    ...options,
    ...(name === "" ? {} : { name }),
    value: content,
    sources: ["caller"],
    keepsVersion: true,
    keepsMetadata: options.mode !== "new" && name !== "",
  };
  try {
    return await committed(store, write, check);
  } catch (error) {
    store.discard(content);
    throw error;
  }
}

/**
 * Converts an error of the body. A body that is too long is 413, even if its length was not declared. Parse
 * errors quote the body, so a secret's error is replaced.
 */
function refusal(error: unknown, isSecret: boolean): unknown {
  const code = codeOf(error);
  if (code === "limit_exceeded" && error instanceof ByrefError) {
    return new ByrefError("body_too_large", error.message, error.details);
  }
  if (!isSecret) return error;
  if (code !== "bad_json" && code !== "bad_value") return error;
  const message = "The body does not match its content type. It is secret, so it is not quoted.";
  return new ByrefError(code, message);
}

/**
 * Prepares the write again if another write has changed the variable that it extends. Extending writes run
 * one after the other: one that lost a conflict would have read and written a large value in vain.
 */
function committed(store: VariableStore, write: Write, check: () => boolean): Promise<Put> {
  const attempt = async () => {
    const prepared = await store.prepare(write);
    try {
      const isNew = check();
      return { info: prepared.commit(), isNew };
    } catch (error) {
      prepared.discard();
      throw error;
    }
  };
  return retryConflicts(store, attempt, { queuesAtOnce: isExtension(write) });
}

/**
 * The media type with which a body is stored. Bodies other than JSON, text and records are read by the store, or
 * stored as bytes.
 */
export function storedType(request: Request): string {
  const type = mediaTypeOf(request);
  if (type === undefined || type.text.length > limits.maxIdChars) {
    throw unsupportedType(request, "send application/json, text/plain, or another media type.");
  }
  if (type.essence === "application/x-www-form-urlencoded") throw unsupportedType(request, FLAGS);
  const stored = storedAs(type);
  if (stored !== undefined) return stored;
  throw unsupportedType(request, "send text in UTF-8, or as bytes of another content type.");
}

const FLAGS = "with curl, add -H 'Content-Type: text/plain' for text, or --json for JSON.";
