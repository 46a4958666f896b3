import { useQuery } from "@tanstack/react-query";
import type { FilePage, FileSummary } from "../../../src/edge/files/file-page.ts";
import { Icon } from "../icon.tsx";
import type { Session } from "../session.ts";
import { bytesInWords, figure } from "../words.ts";
import { Problem } from "./problem.tsx";
import { useAttempt } from "./use-attempt.ts";
import { useNow } from "./use-now.ts";
import { ageWords } from "./words.ts";

interface FileListProps {
  readonly session: Session;
}

/** Lists the conversation's files, for download. Renders nothing without files. */
export function FileList({ session }: FileListProps) {
  const { data } = useQuery({
    queryKey: ["conversation", session.conversation, "files"],
    queryFn: () => filesOf(session),
  });
  const [problem, attempt] = useAttempt();
  const now = useNow(10_000);
  if (data === undefined || data.files.length === 0) return null;
  const { files, next } = data;
  return (
    <section aria-label="Files">
      <header className="variables-head">
        <p className="variables-sum">
          {next === undefined ? "" : "The first "}
          {figure(files.length)} {files.length === 1 ? "file" : "files"}
        </p>
      </header>
      <Problem error={problem} />
      <ul className="variables-list">
        {files.map((file) => (
          <FileRow
            key={file.path}
            file={file}
            now={now}
            onDownload={() => void attempt(() => download(session, file))}
          />
        ))}
      </ul>
    </section>
  );
}

interface FileRowProps {
  readonly file: FileSummary;
  readonly now: number;
  readonly onDownload: () => void;
}

function FileRow({ file, now, onDownload }: FileRowProps) {
  const { path, bytes, mediaType, modified, visibility } = file;
  return (
    <li className="variables-item">
      <button
        type="button"
        className="variables-open"
        // The server does not serve secret values.
        disabled={visibility === "secret"}
        onClick={onDownload}
      >
        <span className="variables-line">
          <bdi className="variables-name" title={path}>
            {path}
          </bdi>
          <time className="variables-age" dateTime={modified}>
            {ageWords(modified, now)}
          </time>
        </span>
        <span className="variables-facts">
          <span>{mediaType}</span>
          <span>{bytesInWords(bytes)}</span>
          {visibility === "model" ? null : <span className="variables-label">{visibility}</span>}
          {visibility === "secret" ? null : <Icon name="download" size={14} />}
        </span>
      </button>
    </li>
  );
}

function pathOf({ conversation }: Session): string {
  return `/conversations/${encodeURIComponent(conversation)}/files`;
}

/** Loads the first page of files. */
async function filesOf(session: Session): Promise<FilePage> {
  // The server's documented response.
  return (await (await session.fetch(pathOf(session))).json()) as FilePage;
}

async function download(session: Session, { path }: FileSummary): Promise<void> {
  const segments = path.split("/");
  const link = document.createElement("a");
  link.href = await session.link(
    `${pathOf(session)}/${segments.map(encodeURIComponent).join("/")}`,
  );
  link.download = segments.at(-1) ?? path;
  link.click();
}
