import "../theme.css";
import "../controls.css";
import "../variables/controls.css";
import "../variables/variables.css";
import "../variables/variable-view.css";
import "./app.css";
import { mount } from "../view-boundary.tsx";
import { VariableApp } from "./variable-app.tsx";

mount("#variable", <VariableApp />);
