// A list of calls with virtual rows: only rows that can be seen are in the document, and their elements are used again
// for other calls. The list has the focus, not its rows, so that the focus stays when rows come and go: j, k and the arrows move, Enter opens, Escape lets go.
import { VisuallyHidden } from '@mantine/core';
import { useHotkeys, useMediaQuery } from '@mantine/hooks';
import { type Virtualizer, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { Link, useNavigate } from 'react-router';
import { type CallRow, durationWords } from './call-row.ts';
import css from './calls-list.module.css';
import { reasonInLine } from './calls-list-reason.ts';
import { isDialogOpen } from './dialog.ts';
import { Foreign, visible } from './foreign.tsx';
import { OutcomeSign, OutcomeWord, outcomeWords } from './outcome.tsx';
import { Clock } from './when.tsx';

interface CallsListProps {
  readonly label: string;
  readonly rows: readonly CallRow[];
  /** The request id of the row that the keyboard is on. */
  readonly active: string | null;
  readonly onActive: (requestId: string | null) => void;
  /** Called when the last rows are near. */
  readonly onNearEnd?: () => void;
  readonly onScrolled?: (offset: number) => void;
  readonly onPointer?: () => void;
  readonly initialOffset?: number;
  /** When it changes, the list shows its first row. */
  readonly top?: number;
  /** Shows the date with each time. */
  readonly hasDates?: boolean;
  /** What is below the last row. */
  readonly end?: ReactNode;
  /** In CSS; the list has this height, and its rows scroll in it. */
  readonly height: string;
}

const rowHeights = { wide: 32, narrow: 72 };
/** Of the names of the columns, which stay above the rows. */
const headHeights = { wide: 26, narrow: 0 };
const narrowQuery = '(max-width: 62em)';
const nearEnd = 20;

export const callAddress = ({ requestId, ts }: Pick<CallRow, 'requestId' | 'ts'>): string =>
  `/calls/${encodeURIComponent(requestId)}?at=${encodeURIComponent(ts)}`;

export function CallsList(props: CallsListProps) {
  const {
    label,
    rows,
    active,
    onActive,
    onNearEnd,
    onScrolled,
    onPointer,
    initialOffset = 0,
    top = 0,
    hasDates = false,
    end,
    height,
  } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const isNarrow = useMediaQuery(narrowQuery, undefined, { getInitialValueInEffect: false });
  const size = isNarrow ? 'narrow' : 'wide';
  const rowHeight = rowHeights[size];
  const headHeight = headHeights[size];
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    initialOffset,
    scrollMargin: headHeight,
    scrollPaddingStart: headHeight,
    overscan: 6,
  });
  useEffect(() => virtual.measure(), [rowHeight, virtual]);
  useEffect(() => {
    if (top > 0) scroller.current?.scrollTo({ top: 0 });
  }, [top]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= rows.length - nearEnd && rows.length > 0) onNearEnd?.();
  }, [last, rows.length, onNearEnd]);

  const { at, onKeyDown } = useListKeys({
    rows,
    active,
    onActive,
    virtual,
    grid,
    pageRows: Math.max(1, Math.floor((virtual.scrollRect?.height ?? 0) / rowHeight) - 1),
  });
  const open = useOpen();
  return (
    <div
      ref={scroller}
      className={`${css.list} alone`}
      style={{ height }}
      onPointerMove={onPointer}
      onScroll={(event) => onScrolled?.(event.currentTarget.scrollTop)}
    >
      {!isNarrow && <Head height={headHeight} />}
      <div
        ref={grid}
        className={css.grid}
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length}
        aria-activedescendant={at < 0 ? undefined : rowId(rows[at]?.requestId ?? '')}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div className={css.rows} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              // The keyboard reaches rows through the list.
              <div
                key={key}
                id={rowId(row.requestId)}
                role="row"
                aria-rowindex={index + 1}
                aria-selected={index === at}
                data-active={index === at ? true : undefined}
                className={css.row}
                style={{ height: rowHeight, transform: `translateY(${start - headHeight}px)` }}
                onClick={(event) => {
                  if (!event.defaultPrevented && window.getSelection()?.type !== 'Range') open(row);
                }}
              >
                <Cells row={row} isNarrow={isNarrow} hasDate={hasDates} />
              </div>
            );
          })}
        </div>
      </div>
      {end}
    </div>
  );
}

function useOpen(): (row: CallRow | undefined) => void {
  const go = useNavigate();
  return (row) => {
    if (row !== undefined) void go(callAddress(row), { state: { inConsole: true } });
  };
}

interface ListKeys extends Pick<CallsListProps, 'rows' | 'active' | 'onActive'> {
  readonly virtual: Virtualizer<HTMLDivElement, Element>;
  readonly grid: RefObject<HTMLDivElement | null>;
  /** How many rows Page Down moves. */
  readonly pageRows: number;
}

/** `at`: the index of the row that the keyboard is on; -1: none. */
function useListKeys({ rows, active, onActive, virtual, grid, pageRows }: ListKeys) {
  const open = useOpen();
  const at = active === null ? -1 : rows.findIndex(({ requestId }) => requestId === active);
  const moveTo = (wanted: number): void => {
    const index = Math.min(Math.max(wanted, 0), rows.length - 1);
    const row = rows[index];
    if (row === undefined) return;
    onActive(row.requestId);
    virtual.scrollToIndex(index);
    grid.current?.focus({ preventScroll: true });
  };
  const firstSeen = (): number => virtual.getVirtualItems().find(({ end }) => end > (virtual.scrollOffset ?? 0))?.index ?? 0;
  const step = (by: number): void => moveTo(at < 0 ? firstSeen() : at + by);
  useHotkeys([
    ['j', () => isDialogOpen() || step(1)],
    ['k', () => isDialogOpen() || step(-1)],
  ]);
  const actions: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    PageDown: () => moveTo(Math.max(at, 0) + pageRows),
    PageUp: () => moveTo(at - pageRows),
    Home: () => moveTo(0),
    End: () => moveTo(rows.length - 1),
    Enter: () => open(rows[at]),
    Escape: () => onActive(null),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return { at, onKeyDown };
}

/** An element's id has no spaces. */
const rowId = (requestId: string): string => `call-${encodeURIComponent(requestId)}`;

function Head({ height }: { readonly height: number }) {
  return (
    <div className={css.head} style={{ height }} aria-hidden="true">
      <span>Time</span>
      <span>Outcome</span>
      <span>Tool</span>
      <span>Agent</span>
      <span>For</span>
      <span>Why</span>
      <span className={css.end}>Result</span>
    </div>
  );
}

/** A row whose call is the same is not made again, wherever it moves. */
const Cells = memo(({ isNarrow, ...of }: CellsProps & { readonly isNarrow: boolean }) =>
  isNarrow ? <NarrowCells {...of} /> : <WideCells {...of} />,
);

interface CellsProps {
  readonly row: CallRow;
  readonly hasDate: boolean;
}

function WideCells({ row, hasDate }: CellsProps) {
  return (
    <>
      <span role="gridcell" className={`${css.cell} ${css.quiet}`}>
        <Clock at={row.ts} hasDate={hasDate} key={row.ts} />
      </span>
      <span role="gridcell" className={css.cell}>
        <OutcomeWord outcome={row.outcome} />
      </span>
      <span role="gridcell" className={css.cell}>
        <CallLink row={row} />
      </span>
      <span role="gridcell" className={css.cell} title={row.depth > 0 ? `below ${agentCount(row.depth)}` : undefined}>
        <AgentName row={row} />
      </span>
      <span role="gridcell" className={css.cell}>
        <Foreign text={row.who} max={80} />
      </span>
      <span role="gridcell" className={`${css.cell} ${css.quiet}`}>
        <Why row={row} />
      </span>
      <span role="gridcell" className={`${css.cell} ${css.end}`}>
        <Result row={row} />
      </span>
    </>
  );
}

function NarrowCells({ row, hasDate }: CellsProps) {
  return (
    <>
      <span role="gridcell" className={`${css.cell} ${css.narrowTool}`}>
        <OutcomeSign outcome={row.outcome} />
        <VisuallyHidden>{outcomeWords[row.outcome]}</VisuallyHidden>
        <CallLink row={row} />
      </span>
      <span role="gridcell" className={`${css.narrowTime} ${css.quiet}`}>
        <Clock at={row.ts} hasDate={hasDate} key={row.ts} />
      </span>
      <span role="gridcell" className={`${css.cell} ${css.narrowAbout} ${css.quiet}`}>
        <AgentName row={row} /> · <Foreign text={row.who} max={40} />
      </span>
      <span role="gridcell" className={`${css.cell} ${css.narrowWhy} ${css.quiet}`}>
        <Why row={row} />
      </span>
      <span role="gridcell" className={css.narrowMark}>
        <Result row={row} />
      </span>
    </>
  );
}

/** A link, so that the call can be opened in another tab. */
function CallLink({ row }: { readonly row: CallRow }) {
  return (
    <Link to={callAddress(row)} state={{ inConsole: true }} tabIndex={-1} className={css.link} onClick={(event) => event.stopPropagation()}>
      <Foreign text={row.tool === '' ? 'no tool' : row.tool} max={120} />
    </Link>
  );
}

const agentCount = (count: number): string => (count === 1 ? 'one agent' : `${count} agents`);

function AgentName({ row }: { readonly row: CallRow }) {
  return (
    <>
      {row.depth > 0 && <span className={css.quiet}>{'›'.repeat(Math.min(row.depth, 3))} </span>}
      <Foreign text={row.agent === '' ? 'no name' : row.agent} max={80} />
    </>
  );
}

function Why({ row }: { readonly row: CallRow }) {
  if (row.isApproved) return <>a person approved it</>;
  if (row.code === 'allowed') return row.shadow === null ? null : <>audit only: would {row.shadow}</>;
  return (
    <span title={`${row.code}: ${visible(row.reason)}`}>
      <Foreign text={reasonInLine(row.reason, row.tool)} max={160} />
    </span>
  );
}

/** What became of a call that was made: words in place of colours. */
function Result({ row: { result, outcome } }: { readonly row: CallRow }) {
  if (result === null) return <span className={css.quiet}>{outcome === 'allow' || outcome === 'redact' ? '…' : '–'}</span>;
  const mark = result.action === 'block' ? 'withheld ' : result.action === 'redact' ? 'output redacted ' : result.isError ? 'failed ' : '';
  const colour =
    result.action === 'block' || result.isError ? 'var(--outcome-deny)' : result.action === 'redact' ? 'var(--outcome-redact)' : undefined;
  return (
    <>
      <span style={{ color: colour }}>{mark}</span>
      <span className={css.quiet}>{durationWords(result.durationMs)}</span>
    </>
  );
}
