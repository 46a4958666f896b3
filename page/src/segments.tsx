interface SegmentsProps<Value extends string> {
  /** Name of the choice, for screen readers. */
  readonly label: string;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
  readonly className?: string;
}

/** A choice between a few options, side by side. */
export function Segments<Value extends string>(props: SegmentsProps<Value>) {
  const { label, values, value, onChoose, className = "" } = props;
  return (
    <div className={`segments ${className}`} role="group" aria-label={label}>
      {values.map((one) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChoose(one)}>
          {one}
        </button>
      ))}
    </div>
  );
}
