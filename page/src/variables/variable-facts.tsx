import { limits } from "../../../src/references.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { useNow } from "./use-now.ts";
import { Labels, LifeBar } from "./variable-list.tsx";
import { bytesInWords } from "../words.ts";
import { ageWords, countWords, lifeOf } from "./words.ts";
import { Fact } from "../fact.tsx";

/** Metadata of a variable. */
export function VariableFacts({ info }: { readonly info: VariableInfo }) {
  const now = useNow(1_000);
  const { description, bytes, updatedAt, version } = info;
  return (
    <div className="variables-about">
      <p className="variables-facts">
        <span>{countWords(info)}</span>
        <span>{bytesInWords(bytes)}</span>
        <span>
          version {version}, <time dateTime={updatedAt}>{written(updatedAt, now)}</time>
        </span>
        <Labels info={info} />
      </p>
      <LifeBar info={info} now={now} />
      {description === undefined ? null : <p className="variables-description">{description}</p>}
      <details className="variables-more-facts">
        <summary>Source</summary>
        <Origin info={info} now={now} />
      </details>
    </div>
  );
}

function written(time: string, now: number): string {
  const age = ageWords(time, now);
  return age === "now" ? "just now" : `${age} ago`;
}

const IDLE = `after ${limits.variableIdleMs / 3_600_000} hours without use`;

const LOCATIONS = {
  row: "SQLite row",
  chunks: "SQLite rows of its chunks",
  r2: "bucket",
  messages: "message",
} as const;

interface OriginProps {
  readonly info: VariableInfo;
  readonly now: number;
}

function Origin({ info, now }: OriginProps) {
  const { tool, input, sources, trusted, shape, mediaType, location, pinned, visibility } = info;
  const life = lifeOf(info, now)?.words ?? (pinned ? "never (pinned)" : IDLE);
  return (
    <dl className="variables-origin">
      <Fact name="Tool">{tool}</Fact>
      <Fact name="Called with">
        {input === undefined ? undefined : <code>{JSON.stringify(input)}</code>}
      </Fact>
      <Fact name="Sources">
        {sources.join(", ")}
        {trusted ? "" : ", untrusted"}
      </Fact>
      <Fact name="Shape">{shape === "" ? undefined : <code>{shape}</code>}</Fact>
      <Fact name="Media type">{mediaType}</Fact>
      <Fact name="Visible to">{SEEN_BY[visibility]}</Fact>
      <Fact name="Stored in">{LOCATIONS[location]}</Fact>
      <Fact name="Expires">{life}</Fact>
    </dl>
  );
}

const SEEN_BY = {
  model: "you and the model",
  sealed: "you; the model knows its name, type and count",
  secret: "only tools that list it",
} as const;
