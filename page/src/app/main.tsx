import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../theme.css";
import "../controls.css";
import "../variables/controls.css";
import "../variables/variables.css";
import "../variables/variable-view.css";
import "./app.css";
import { ViewBoundary } from "../view-boundary.tsx";
import { VariableApp } from "./variable-app.tsx";

const place = document.querySelector("#variable");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <ViewBoundary>
        <VariableApp />
      </ViewBoundary>
    </StrictMode>,
  );
}
