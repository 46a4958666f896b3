import { Icon } from "../icon.tsx";
import "./empty-variables.css";

/** Explains what the panel will show, and that it accepts files. */
export function EmptyVariables() {
  return (
    <div className="variables-none">
      <Icon name="variables" size={28} />
      <p className="variables-none-title">No variables yet</p>
      <p>Tool results appear here by name: open them as a table, a tree or a chart.</p>
      <p className="variables-none-drop">
        <Icon name="upload" size={16} /> Drop a CSV, JSON or other file to add one.
      </p>
    </div>
  );
}
