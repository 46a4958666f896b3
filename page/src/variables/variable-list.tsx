import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, IconButton, moveFocus } from "../controls.tsx";
import { useNow } from "../hooks.ts";
import { bytesInWords } from "../words.ts";
import { ageWords, countWords, labelsOf, lifeOf } from "./words.ts";
import "./variable-list.css";

interface VariableListProps {
  readonly variables: readonly VariableInfo[];
  /** Name of the variable that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly onPin: (info: VariableInfo) => void;
}

export function VariableList({ variables, focused, onSelect, onPin }: VariableListProps) {
  const isAnyEnding = variables.some(({ expiresAt, pinned }) => expiresAt !== undefined && !pinned);
  const now = useNow(isAnyEnding ? 1_000 : 10_000);
  return (
    <ul className="variables-list" onKeyDown={(event) => moveFocus(event, ".variables-open")}>
      {variables.map((info) => {
        const { name, pinned, bytes, tool, version, updatedAt } = info;
        return (
          <li key={name} className="variables-item">
            <Button
              className="variables-open"
              autoFocus={name === focused}
              onClick={() => onSelect(name)}
            >
              <span className="variables-line">
                <VariableName name={name} />
                <time className="variables-age" dateTime={updatedAt}>
                  {ageWords(updatedAt, now)}
                </time>
              </span>
              <span className="variables-facts">
                <span>{countWords(info)}</span>
                <span>{bytesInWords(bytes)}</span>
                {tool !== undefined && <span>{tool}</span>}
                {version > 1 && <span>version {version}</span>}
                <Labels info={info} />
              </span>
              <LifeBar info={info} now={now} />
            </Button>
            <IconButton
              className="variables-action variables-pin"
              icon="pin"
              label={`Pin $${name}`}
              size={16}
              aria-pressed={pinned}
              title={pinned ? "Unpin: it may be removed" : "Pin: it is not removed"}
              onClick={() => onPin(info)}
            />
          </li>
        );
      })}
    </ul>
  );
}

export function VariableName({ name }: { readonly name: string }) {
  return (
    <span className="variables-name" title={`$${name}`}>
      <span className="variables-sigil">$</span>
      {name}
    </span>
  );
}

export function Labels({ info }: { readonly info: VariableInfo }) {
  return labelsOf(info).map(({ name, meaning, isWarning }) => (
    <span
      key={name}
      className={`variables-label${isWarning ? " variables-warning" : ""}`}
      title={meaning}
    >
      {name}
    </span>
  ));
}

const NEARLY_OVER = 0.2;

/** Shows the remaining lifetime. */
export function LifeBar({ info, now }: { readonly info: VariableInfo; readonly now: number }) {
  const life = lifeOf(info, now);
  if (life === undefined) return null;
  return (
    <span className="variables-life" title={life.words}>
      <span
        className={`variables-left${life.left < NEARLY_OVER ? " variables-short" : ""}`}
        style={{ transform: `scaleX(${life.left})` }}
      />
      <span className="unseen">, {life.words}</span>
    </span>
  );
}
