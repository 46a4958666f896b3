import { useQuery } from "@tanstack/react-query";
import { Button, download } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt, useNow } from "../hooks.ts";
import { Icon } from "../icon.tsx";
import { bytesInWords, plural } from "../words.ts";
import { Problem } from "./problem.tsx";
import { ageWords } from "./words.ts";

/** Lists the conversation's files, for download. Renders nothing without files. */
export function FileList() {
  const { link, conversation } = useConversation().session;
  const { data } = useQuery({
    queryKey: ["conversation", conversation.id, "files"],
    queryFn: () => conversation.files.list(),
  });
  const [problem, attempt] = useAttempt();
  const now = useNow(10_000);
  if (data === undefined || data.files.length === 0) return null;
  const save = async (path: string) => {
    const segments = path.split("/");
    const at = `/files/${segments.map(encodeURIComponent).join("/")}`;
    download(await link(conversation.id, at), segments.at(-1) ?? path);
  };
  return (
    <section aria-label="Files">
      <header className="variables-head">
        <p className="variables-sum">
          {data.next === undefined ? "" : "The first "}
          {plural(data.files.length, "file")}
        </p>
      </header>
      <Problem error={problem} />
      <ul className="variables-list">
        {data.files.map(({ path, bytes, mediaType, modified, visibility }) => (
          <li key={path} className="variables-item">
            <Button
              className="variables-open"
              // The server does not serve secret values.
              disabled={visibility === "secret"}
              onClick={() => void attempt(() => save(path))}
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
                {visibility !== "model" && <span className="variables-label">{visibility}</span>}
                {visibility !== "secret" && <Icon name="download" size={14} />}
              </span>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
