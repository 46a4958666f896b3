import { QueryClientContext } from "@tanstack/react-query";
import { Component, type ContextType, type PropsWithChildren, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Button } from "./controls.tsx";
import "./view-boundary.css";

interface ViewBoundaryState {
  readonly hasFailed: boolean;
  readonly wasReloaded: boolean;
}

/**
 * Shows a note in place of a view that throws while React renders it or runs its effects; the rest of the
 * page stays usable. Errors in event handlers do not reach it. The button renders the view again; after a
 * second failure it reloads the page, which also fetches code that a deployment has replaced.
 */
export class ViewBoundary extends Component<PropsWithChildren, ViewBoundaryState> {
  static override contextType = QueryClientContext;
  declare context: ContextType<typeof QueryClientContext>;
  override state: ViewBoundaryState = { hasFailed: false, wasReloaded: false };

  static getDerivedStateFromError(): Partial<ViewBoundaryState> {
    return { hasFailed: true };
  }

  readonly #reload = () => {
    // The view may have failed because of loaded data.
    this.context?.removeQueries({ type: "inactive" });
    if (this.state.wasReloaded) location.reload();
    else this.setState({ hasFailed: false, wasReloaded: true });
  };

  override render(): React.ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <p className="view-failed" role="alert">
        This view failed. <Button onClick={this.#reload}>Reload it</Button>
      </p>
    );
  }
}

/** Renders a page into its element. */
export function mount(selector: string, page: React.ReactNode): void {
  const element = document.querySelector(selector);
  if (element === null) return;
  const whole = <ViewBoundary>{page}</ViewBoundary>;
  createRoot(element).render(<StrictMode>{whole}</StrictMode>);
}
