import type { ReactNode } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Confirm } from "../shell/confirm.tsx";
import { Icon, type IconName } from "../icon.tsx";
import { Problem } from "./problem.tsx";
import { useAttempt } from "./use-attempt.ts";
import { fileName, isTable, pathOf } from "./value-path.ts";

export type Doing = "view" | "edit" | "settings" | "delete";

interface VariableActionsProps {
  readonly session: Session;
  readonly info: VariableInfo;
  readonly canEdit: boolean;
  readonly doing: Doing;
  readonly onDo: (doing: Doing) => void;
  readonly onClose: () => void;
}

export function VariableActions(props: VariableActionsProps) {
  const { session, info, canEdit, doing, onDo, onClose } = props;
  const [problem, attempt] = useAttempt();
  const { name, pinned, visibility } = info;
  const { variables } = session.client.conversation(session.conversation);
  const pin = () => variables.patch(name, { pinned: !pinned });
  const remove = async () => {
    await variables.delete(name);
    onClose();
  };
  const toggle = (what: Doing) => onDo(doing === what ? "view" : what);
  return (
    <>
      <div className="variables-actions">
        {canEdit ? (
          <Action icon="edit" isOn={doing === "edit"} onClick={() => toggle("edit")}>
            Edit
          </Action>
        ) : null}
        {visibility === "secret" ? null : (
          <Action icon="download" onClick={() => void attempt(() => download(session, info))}>
            Download
          </Action>
        )}
        <Action icon="pin" isOn={pinned} onClick={() => void attempt(pin)}>
          {pinned ? "Pinned" : "Pin"}
        </Action>
        <Action icon="settings" isOn={doing === "settings"} onClick={() => toggle("settings")}>
          Settings
        </Action>
        <Action icon="trash" isOn={doing === "delete"} onClick={() => toggle("delete")}>
          Delete
        </Action>
      </div>
      {doing === "delete" ? (
        <Confirm
          title={`Delete $${name}?`}
          text="References to it stop working. This cannot be undone."
          word="Delete"
          onYes={() => void attempt(remove)}
          onNo={() => onDo("view")}
        />
      ) : null}
      <Problem error={problem} />
    </>
  );
}

interface ActionProps {
  readonly icon: IconName;
  readonly isOn?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Action({ icon, isOn, onClick, children }: ActionProps) {
  return (
    <button type="button" className="variables-tool" aria-pressed={isOn} onClick={onClick}>
      <Icon name={icon} size={16} />
      {children}
    </button>
  );
}

async function download(session: Session, info: VariableInfo): Promise<void> {
  const link = document.createElement("a");
  link.href = isTable(info)
    ? await fileUrl(session, info)
    : await session.link(pathOf(session.conversation, info.name));
  link.download = fileName(info);
  link.click();
}

/** The file of a table. A link alone would get its records as JSON. */
async function fileUrl({ client, conversation }: Session, info: VariableInfo): Promise<string> {
  const { variables } = client.conversation(conversation);
  const response = await variables.open(info.name, {}, { accept: info.mediaType });
  const url = URL.createObjectURL(await response.blob());
  setTimeout(() => URL.revokeObjectURL(url), URL_MS);
  return url;
}

/** Time for the browser to begin the download. */
const URL_MS = 60_000;
