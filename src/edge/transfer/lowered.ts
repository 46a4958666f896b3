import type { TakenLine } from "../../tool/transfer/transfer-lines.ts";
import type { OwnRecord } from "./transfer-format.ts";

/**
 * The record without what only its file says: values and plans are not trusted, and messages count as
 * written by a model that had seen untrusted content. Visibility stays, because a caller may set it.
 */
export function lowered(record: TakenLine<OwnRecord>): TakenLine<OwnRecord> {
  switch (record.type) {
    case "variable":
    case "version":
      return { ...record, info: { ...record.info, trusted: false } };
    case "file":
      return { ...record, trusted: false };
    case "message":
      return { ...record, message: { ...record.message, tainted: true } };
    case "plan":
      return { ...record, plan: { ...record.plan, tainted: true } };
    default:
      return record;
  }
}
