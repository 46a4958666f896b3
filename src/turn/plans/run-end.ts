import { codeIn, type ErrorCode } from "../../errors.ts";
import type { RunRecord, RunStatus } from "../../plan/run-record.ts";
import type { Account } from "../spend/account.ts";
import type { Cost } from "../spend/cost.ts";
import type { TurnEnd } from "../turn-options.ts";

const ENDS = {
  running: "waiting",
  waiting: "waiting",
  done: "done",
  failed: "failed",
  cancelled: "stopped",
} as const satisfies Record<RunStatus, TurnEnd["status"]>;

/** What is told of a run's end; why it failed is what its first failed call says, if itself does not. */
export function runEndOf(record: RunRecord, account: Account, cost: Cost): TurnEnd {
  const { usage, savings } = account.counts;
  const status = ENDS[record.status];
  const about = { status, usage, savings, cost };
  return status === "failed" ? { ...about, code: failureIn(record) } : about;
}

function failureIn({ error, calls }: RunRecord): ErrorCode {
  const failed = Object.values(calls).find(({ status }) => status === "failed");
  return codeIn(error ?? failed?.reason ?? "");
}
