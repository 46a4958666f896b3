import "./without-eval.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./theme.css";
import "./controls.css";
import "./forced-colors.css";
import { Page } from "./page.tsx";
import { ViewBoundary } from "./view-boundary.tsx";

const page = document.querySelector("#page");
if (page !== null) {
  createRoot(page).render(
    <StrictMode>
      <ViewBoundary>
        <Page />
      </ViewBoundary>
    </StrictMode>,
  );
}
