import { useState } from "react";
import { formatPath, type Path } from "../../../src/references.ts";
import type { Json } from "../../../src/value/json.ts";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "../icon.tsx";
import { childrenOf, summaryOf } from "./json-children.ts";
import { figure } from "../words.ts";
import "./json-tree.css";

interface JsonTreeProps {
  readonly value: Json;
  /** Start of the references to copy: `$orders`. Default: nothing can be copied. */
  readonly root?: string;
}

/** A value as a tree. Renders open branches only. */
export function JsonTree({ value, root }: JsonTreeProps) {
  const isLeaf = typeof value !== "object" || value === null;
  return (
    <div className="variables-tree">
      {isLeaf ? (
        <Scalar value={value} />
      ) : (
        <Children value={value} path={[]} {...(root === undefined ? {} : { root })} />
      )}
    </div>
  );
}

/** Children rendered at a time. */
const SHOWN = 100;

interface ChildrenProps extends JsonTreeProps {
  readonly path: Path;
}

function Children({ value, path, ...rest }: ChildrenProps) {
  const [shown, setShown] = useState(SHOWN);
  const children = childrenOf(value, shown);
  if (children.count === 0) return <p className="variables-nothing">empty</p>;
  return (
    <>
      <ul>
        {children.entries.map(({ segment, label, value: child }) => (
          <Branch key={label} label={label} value={child} path={[...path, segment]} {...rest} />
        ))}
      </ul>
      {children.count > shown ? (
        <button
          type="button"
          className="variables-more"
          onClick={() => setShown((last) => last + SHOWN)}
        >
          Show {figure(Math.min(SHOWN, children.count - shown))} more ({figure(shown)} of{" "}
          {figure(children.count)})
        </button>
      ) : null}
    </>
  );
}

interface BranchProps extends ChildrenProps {
  readonly label: string;
}

function Branch({ label, value, path, root }: BranchProps) {
  const [isOpen, setOpen] = useState(false);
  const isLeaf = typeof value !== "object" || value === null;
  return (
    <li>
      <div className="variables-branch">
        {isLeaf ? (
          <span className="variables-leaf">
            <span className="variables-key">{label}</span>
            <Scalar value={value} />
          </span>
        ) : (
          <button
            type="button"
            className="variables-fold"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="open" size={16} />
            <span className="variables-key">{label}</span>
            <span className="variables-summary">{summaryOf(value)}</span>
          </button>
        )}
        {root === undefined ? null : <CopyButton text={`${root}${formatPath(path)}`} />}
      </div>
      {isOpen && !isLeaf ? (
        <Children value={value} path={path} {...(root === undefined ? {} : { root })} />
      ) : null}
    </li>
  );
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
        <button
          type="button"
          className="link-button"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "less" : `all ${figure(value.length)} characters`}
        </button>
      </span>
    );
  }
  const kind = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "word";
  return (
    <span className={`variables-scalar variables-${kind}-value`}>{JSON.stringify(value)}</span>
  );
}
