import { useState } from "react";
import { formatPath, type Path, type Segment } from "../../../src/references.ts";
import type { Json } from "../../../src/value/json.ts";
import { Button, CopyButton, Icon } from "../controls.tsx";
import { figure, plural, shortened } from "../words.ts";
import "./json-tree.css";

interface JsonTreeProps {
  readonly value: Json;
  /** Start of the references to copy: `$orders`. Default: nothing can be copied. */
  readonly root?: string | undefined;
}

/** A value as a tree. Renders open branches only. */
export function JsonTree({ value, root }: JsonTreeProps) {
  return (
    <div className="variables-tree">
      {isLeaf(value) ? <Scalar value={value} /> : <Children {...{ value, root }} path={[]} />}
    </div>
  );
}

function isLeaf(value: Json): value is string | number | boolean | null {
  return typeof value !== "object" || value === null;
}

/** Children rendered at a time. */
const SHOWN = 100;

interface ChildrenProps extends JsonTreeProps {
  readonly path: Path;
}

function Children({ value, path, root }: ChildrenProps) {
  const [shown, setShown] = useState(SHOWN);
  const { entries, count } = childrenOf(value, shown);
  if (count === 0) return <p className="variables-nothing">empty</p>;
  return (
    <>
      <ul>
        {entries.map(({ segment, label, value: child }) => (
          <Branch key={label} {...{ label, root }} value={child} path={[...path, segment]} />
        ))}
      </ul>
      {count > shown && (
        <Button className="variables-more" onClick={() => setShown(shown + SHOWN)}>
          Show {figure(Math.min(SHOWN, count - shown))} more ({figure(shown)} of {figure(count)})
        </Button>
      )}
    </>
  );
}

function Branch({ label, value, path, root }: ChildrenProps & { readonly label: string }) {
  const [isOpen, setOpen] = useState(false);
  const key = <span className="variables-key">{label}</span>;
  return (
    <li>
      <div className="variables-branch">
        {isLeaf(value) ? (
          <span className="variables-leaf">
            {key}
            <Scalar value={value} />
          </span>
        ) : (
          <Button
            className="variables-fold"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="open" size={16} />
            {key}
            <span className="variables-summary">{summaryOf(value)}</span>
          </Button>
        )}
        {root !== undefined && <CopyButton text={`${root}${formatPath(path)}`} />}
      </div>
      {isOpen && !isLeaf(value) && <Children {...{ value, path, root }} />}
    </li>
  );
}

/** Returns the first children of an array or object, and their number. */
function childrenOf(value: Json, most: number) {
  if (isLeaf(value)) return { entries: [], count: 0 };
  const all = Object.entries(value as Readonly<Record<string, Json>>);
  const entries = all.slice(0, most).map(([label, child]) => {
    const segment: Segment = Array.isArray(value) ? { index: Number(label) } : { key: label };
    return { segment, label, value: child };
  });
  return { entries, count: all.length };
}

const MAX_SUMMARY_CHARS = 60;

/** Describes a closed branch: its size and its beginning. */
function summaryOf(value: Json): string {
  if (Array.isArray(value)) return plural(value.length, "element");
  const { entries, count } = childrenOf(value, 4);
  const parts = entries.map(({ label, value: child }) =>
    isLeaf(child) ? `${label}: ${JSON.stringify(child)}` : label,
  );
  const text = shortened(parts.join(", "), MAX_SUMMARY_CHARS);
  return count > entries.length && !text.endsWith("…") ? `${text}…` : text || "no keys";
}

/** Longer texts are clipped. */
const MAX_TEXT_CHARS = 160;

function Scalar({ value }: { readonly value: string | number | boolean | null }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value === "string" && value.length > MAX_TEXT_CHARS) {
    return (
      <span className="variables-scalar">
        <span className={isWhole ? "variables-whole" : undefined}>
          {isWhole ? value : `${JSON.stringify(value.slice(0, MAX_TEXT_CHARS)).slice(0, -1)}…`}
        </span>{" "}
        <Button className="link-button" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "less" : `all ${figure(value.length)} characters`}
        </Button>
      </span>
    );
  }
  return <span className="variables-scalar">{JSON.stringify(value)}</span>;
}
