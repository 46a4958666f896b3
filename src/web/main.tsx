import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./theme.css";

const page = document.querySelector("#page");
if (page !== null) createRoot(page).render(<StrictMode>Byref</StrictMode>);
