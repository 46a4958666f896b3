/** Who has called, in a trace that somebody else began. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** Somebody keeps it; otherwise nobody is to hear of it. */
  readonly isSampled: boolean;
}

/** W3C Trace Context: later versions may say more behind these four. */
const TRACE_PARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** Undefined for what is no `traceparent`: the turn then begins a trace of its own. */
export function readTraceParent(header: string | null | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = ""] = TRACE_PARENT.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** What a conversation is to know of the request that it is handed. */
export function traceHeaders({ headers }: Request): Readonly<Record<string, string>> {
  const traceparent = headers.get("traceparent");
  return traceparent === null ? {} : { traceparent };
}
