import type { Visibility } from "../../store/variable.ts";

export interface FileSummary {
  readonly path: string;
  readonly bytes: number;
  readonly mediaType: string;
  /** The ETag, with quotes. Changes with each write. */
  readonly etag: string;
  /** ISO 8601. */
  readonly modified: string;
  readonly visibility: Visibility;
}

export interface FilePage {
  readonly files: readonly FileSummary[];
  /** The `after` of the next page. Absent on the last page. */
  readonly next?: string;
}
