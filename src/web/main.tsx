import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./page.tsx";
import "./theme.css";
import "./controls.css";

const page = document.querySelector("#page");
if (page !== null) {
  createRoot(page).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
