import type { Tombstone, VariableInfo } from "../../src/store/variable.ts";
import { appended, describe, keyOf, type Piece, type Value } from "./values.ts";

/** A state that a variable may be in, according to the acknowledgements. */
export type State =
  /** Never written, or deleted. */
  | { readonly kind: "absent" }
  /** Written. After its expiry, a tombstone keeps the version. */
  | {
      readonly kind: "value";
      readonly value: Value;
      readonly version: number;
      readonly expires?: Span;
      /** From the acknowledgement or an earlier read. */
      readonly info?: VariableInfo;
    };

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a GET of the value returned, and the variable's entry in the list. */
export interface Seen extends Span {
  readonly status: number;
  readonly digest?: string;
  readonly version?: number;
  readonly info?: VariableInfo;
  readonly tombstone?: Tombstone;
}

export interface Timed {
  readonly startMs: number;
  /** Infinity if the operation was never answered. */
  readonly endMs: number;
  /** The latest time at which it can have taken effect. */
  readonly latestMs: number;
}

/** A request. Without an answer, it took effect completely or not at all. */
export type Operation = Timed &
  (
    | {
        readonly kind: "put";
        readonly piece: Piece;
        readonly mode: "replace" | "append" | "new";
        readonly ttlMs?: number;
        readonly answer?: Answer;
      }
    | { readonly kind: "delete"; readonly answer?: Answer }
    | { readonly kind: "read"; readonly answer: Seen }
    /** Applies to the whole conversation. The answer names the deleted variables. */
    | {
        readonly kind: "reset";
        readonly keepLast: number;
        readonly answer?: Answer & { readonly deleted: readonly string[] };
      }
    /** Deletes the whole conversation. */
    | { readonly kind: "end"; readonly answer?: Answer }
  );

export interface Answer {
  readonly status: number;
  readonly info?: VariableInfo;
}

export const ABSENT: State = { kind: "absent" };

/** The server uses the same clock but reads it at other moments. */
const CLOCK_MS = 30;

/**
 * Returns the states that a variable may be in after the operations. An acknowledged operation took effect
 * once, between its start and its end; any other took effect at some time after its start, or never.
 */
export function statesAfter(
  name: string,
  initial: readonly State[],
  operations: readonly Operation[],
): readonly State[] {
  const found = new Map<string, State>();
  const visited = new Set<string>();
  const visit = (state: State, left: readonly Operation[]) => {
    const at = `${left.map((operation) => operations.indexOf(operation)).join()} ${stateKey(state)}`;
    if (visited.has(at)) return;
    visited.add(at);
    if (left.every((operation) => operation.answer === undefined)) {
      found.set(stateKey(state), state);
    }
    const firstEndMs = Math.min(...left.map(({ endMs }) => endMs));
    for (const operation of left) {
      if (operation.startMs > firstEndMs) continue;
      const rest = left.filter((other) => other !== operation);
      for (const next of statesThrough(state, operation, name)) visit(next, rest);
    }
  };
  for (const state of initial) visit(state, operations);
  return [...found.values()];
}

/** True if a reader may see this of a variable in this state. */
export function agrees(state: State, seen: Seen): boolean {
  if (state.kind === "absent") return seen.status === 404 && seen.info === undefined;
  const alive = isAlive(state, seen);
  if (seen.status === 410) {
    const { tombstone } = seen;
    const isRight = tombstone?.version === state.version && tombstone.reason === "expired";
    return alive !== true && isRight;
  }
  if (seen.status !== 200 || alive === false) return false;
  const isSame = seen.digest === describe(state.value).digest && seen.version === state.version;
  return isSame && (seen.info === undefined || infoAgrees(state, seen.info));
}

/** Returns the expiry that the server stated. */
export function expiryIn({ expiresAt }: VariableInfo): { readonly expires?: Span } {
  if (expiresAt === undefined) return {};
  const expiresMs = Date.parse(expiresAt);
  return { expires: { fromMs: expiresMs - CLOCK_MS, toMs: expiresMs + CLOCK_MS } };
}

export function stateKey(state: State): string {
  if (state.kind === "absent") return "absent";
  const { value, version, expires } = state;
  return `${keyOf(value)} version ${version} until ${expires?.fromMs ?? "ever"}`;
}

/** Undefined if the variable may have expired within the span. */
function isAlive(state: State, { fromMs, toMs }: Span): boolean | undefined {
  if (state.kind === "absent") return false;
  const { expires } = state;
  if (expires === undefined || expires.fromMs > toMs) return true;
  return expires.toMs <= fromMs ? false : undefined;
}

/** True if `info` describes the value and equals the acknowledged info, if there is one. */
function infoAgrees(state: State & { kind: "value" }, info: VariableInfo): boolean {
  const { type, count, bytes, mediaType, location } = describe(state.value);
  const isRight =
    info.type === type &&
    info.count === count &&
    info.bytes === bytes &&
    info.mediaType === mediaType &&
    info.location === location &&
    info.version === state.version;
  if (state.info === undefined) return isRight;
  return isRight && lasting(state.info) === lasting(info);
}

/** Serializes everything but `accessedAt`, which reads change. */
function lasting(info: VariableInfo): string {
  const entries = Object.entries(info).filter(([key]) => key !== "accessedAt");
  return JSON.stringify(Object.fromEntries(entries.toSorted()));
}

/** Returns the states that the operation may lead to; none if its answer rules out this state. */
function statesThrough(state: State, operation: Operation, name: string): readonly State[] {
  const { startMs: fromMs, latestMs: toMs } = operation;
  const alive = isAlive(state, { fromMs, toMs });
  switch (operation.kind) {
    case "read":
      return agrees(state, operation.answer) ? [state] : [];
    case "delete":
      if (operation.answer?.status === 204 && alive === false) return [];
      if (operation.answer?.status === 404 && alive === true) return [];
      return hasFailed(operation.answer) ? [state] : [ABSENT];
    case "reset":
      if (operation.answer === undefined) return alive === false ? [state] : [ABSENT];
      if (!operation.answer.deleted.includes(name)) return [state];
      return alive === false ? [] : [ABSENT];
    case "end":
      return operation.answer === undefined || operation.answer.status === 204 ? [ABSENT] : [state];
    case "put":
      return [true, false]
        .filter((isThere) => alive === undefined || alive === isThere)
        .flatMap((isThere) => statesThroughPut(state, operation, isThere));
  }
}

/** True if nothing was deleted and the variable may still be there. After a 404 it is not. */
function hasFailed(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status !== 204 && answer.status !== 404;
}

function statesThroughPut(
  state: State,
  put: Operation & { kind: "put" },
  isThere: boolean,
): readonly State[] {
  const { piece, mode, answer } = put;
  const version = (state.kind === "absent" ? 0 : state.version) + 1;
  const existing = isThere && state.kind === "value" ? state : undefined;
  const extended = mode === "append" ? existing : undefined;
  const { kind } = piece;
  const value =
    extended === undefined ? { kind, pieces: [piece] } : appended(extended.value, piece);
  if (mode === "new" && version > 1) return [];
  if (answer === undefined) {
    if (value === undefined) return [state];
    const expires = keptExpiry(put, existing) ?? spanOf(put);
    return [{ kind: "value", value, version, ...(expires === undefined ? {} : { expires }) }];
  }
  const { status, info } = answer;
  if (info === undefined) {
    // Only a write that does not fit the value gets 422. Any other refusal changes nothing.
    return value === undefined || status !== 422 ? [state] : [];
  }
  const isRight = value !== undefined && info.version === version && isThere === (status === 200);
  if (!isRight) return [];
  const after = { kind: "value", value, version, info, ...expiryIn(info) } as const;
  return infoAgrees(after, info) ? [after] : [];
}

/** A write without a ttl, in any mode, keeps the expiry of a variable that still exists. */
function keptExpiry(
  { ttlMs }: Operation & { kind: "put" },
  existing: (State & { kind: "value" }) | undefined,
): Span | undefined {
  return ttlMs === undefined ? existing?.expires : undefined;
}

function spanOf({ ttlMs, startMs, latestMs }: Operation & { kind: "put" }): Span | undefined {
  if (ttlMs === undefined) return undefined;
  return { fromMs: startMs + ttlMs - CLOCK_MS, toMs: latestMs + ttlMs + CLOCK_MS };
}
