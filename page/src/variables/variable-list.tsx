import type { KeyboardEvent } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Icon } from "../icon.tsx";
import { useNow } from "./use-now.ts";
import { useLeaving } from "./use-leaving.ts";
import { bytesInWords } from "../words.ts";
import { ageWords, countWords, labelsOf, lifeOf } from "./words.ts";
import "./variable-list.css";

export interface VariableListProps {
  readonly variables: readonly VariableInfo[];
  /** Name of the variable that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly onPin: (info: VariableInfo) => void;
}

export function VariableList({ variables, focused, onSelect, onPin }: VariableListProps) {
  const isAnyEnding = variables.some(({ expiresAt, pinned }) => expiresAt !== undefined && !pinned);
  const now = useNow(isAnyEnding ? 1_000 : 10_000);
  const shown = useLeaving(variables);
  return (
    <ul className="variables-list" onKeyDown={moveFocus}>
      {shown.map(({ info, isLeaving }) => (
        <VariableRow
          key={info.name}
          info={info}
          now={now}
          isLeaving={isLeaving}
          isFocused={info.name === focused}
          onSelect={onSelect}
          onPin={onPin}
        />
      ))}
    </ul>
  );
}

interface VariableRowProps extends Pick<VariableListProps, "onSelect" | "onPin"> {
  readonly info: VariableInfo;
  readonly now: number;
  readonly isLeaving: boolean;
  readonly isFocused: boolean;
}

function VariableRow(props: VariableRowProps) {
  const { info, now, isLeaving, isFocused, onSelect, onPin } = props;
  const { name, pinned, bytes, tool, version, updatedAt } = info;
  return (
    <li className={`variables-item${isLeaving ? " variables-leaving" : ""}`}>
      <button
        type="button"
        className="variables-open"
        autoFocus={isFocused}
        disabled={isLeaving}
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
          {tool === undefined ? null : <span>{tool}</span>}
          {version > 1 ? <span>version {version}</span> : null}
          <Labels info={info} />
        </span>
        <LifeBar info={info} now={now} />
      </button>
      <button
        type="button"
        className="variables-action variables-pin"
        aria-pressed={pinned}
        aria-label={`Pin $${name}`}
        title={pinned ? "Unpin: it may be removed" : "Pin: it is not removed"}
        disabled={isLeaving}
        onClick={() => onPin(info)}
      >
        <Icon name="pin" size={16} />
      </button>
    </li>
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

interface LifeBarProps {
  readonly info: VariableInfo;
  readonly now: number;
}

/** Shows the remaining lifetime. */
export function LifeBar({ info, now }: LifeBarProps) {
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

const NEARLY_OVER = 0.2;

/** Moves the focus with Up, Down, Home and End. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>(".variables-open")];
  const at = rows.findIndex((row) => row.parentElement?.contains(document.activeElement));
  const places: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: rows.length - 1,
  };
  const row = rows[places[event.key] ?? -1];
  if (row === undefined) return;
  event.preventDefault();
  row.focus();
}
