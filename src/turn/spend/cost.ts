/** What a piece of work cost in SQLite, as the platform bills it. */
export interface Cost {
  readonly rowsRead: number;
  /** Alarms that were set count in. */
  readonly rowsWritten: number;
  readonly alarms: number;
}

/** What was spent between two readings. */
export function costSince(before: Cost, after: Cost): Cost {
  return {
    rowsRead: after.rowsRead - before.rowsRead,
    rowsWritten: after.rowsWritten - before.rowsWritten,
    alarms: after.alarms - before.alarms,
  };
}
