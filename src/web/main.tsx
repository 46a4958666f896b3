import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./theme.css";
import "./controls.css";
import { Page } from "./page.tsx";

const page = document.querySelector("#page");
if (page !== null) {
  createRoot(page).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
