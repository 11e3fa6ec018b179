import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { t } from '../language.ts'
import { type LoadOptions, useLoad } from '../load.ts'
import { Button } from './actions.tsx'
import { Failure, Loading } from './basics.tsx'
import { useRows } from './keyboard.ts'
import { ScrollRegion } from './scroll-region.tsx'

export interface Column<T> {
  name: string
  /** Columns that may be left out on narrow screens. */
  wide?: boolean
  cell(row: T): ComponentChildren
}

type Query = Record<string, string | undefined>

export interface Listed<T> {
  rows: T[] | undefined
  error: Error | undefined
  next: string | null
  more(): Promise<void>
  reload(): void
}

interface Row {
  _id: string | number
}

interface ListOptions<T> extends LoadOptions {
  /** Returns the key of a row, where that is not `_id`. */
  keyOf?: (row: T) => string | number
}

/** A list of the API, as much of it as was asked for: all of that is loaded again every few seconds. */
export function useList<T>(
  path: string,
  query: Query = {},
  { everyMs = 5_000, keyOf = (row) => (row as Row)._id, ...options }: ListOptions<T> = {},
): Listed<T> {
  const key = `${path}?${JSON.stringify(query)}`
  const asked = useRef({ key, least: 1 })
  if (asked.current.key !== key) asked.current = { key, least: 1 }
  const load = (least: number, signal?: AbortSignal) => loadRows<T>(path, { query, least, signal, keyOf })
  const { data, error, reload, put } = useLoad(key, (signal) => load(asked.current.least, signal), {
    everyMs,
    ...options,
  })
  return {
    rows: data?.data,
    error,
    next: data?.next ?? null,
    more: async () => {
      const least = (data?.data.length ?? 0) + 1
      const all = await load(least)
      // Meanwhile another list may be asked for.
      if (asked.current.key !== key) return
      asked.current = { key, least }
      put(all)
    },
    reload,
  }
}

const PAGE = 50
const LARGEST_PAGE = 200

/**
 * The beginning of a list, at least so many rows of it and a page as a rule: a page has fewer rows than it was asked for
 * where they are large. What moves from one page to another meanwhile is in it once.
 */
async function loadRows<T>(
  path: string,
  {
    query,
    least,
    signal,
    keyOf,
  }: { query: Query; least: number; signal: AbortSignal | undefined } & Required<
    Pick<ListOptions<T>, 'keyOf'>
  >,
): Promise<Page<T>> {
  const found = new Map<string | number, T>()
  let after: string | undefined
  do {
    const limit = Math.min(least - 1 + PAGE - found.size, LARGEST_PAGE)
    const page = await call<Page<T>>('GET', path, { query: { ...query, limit, after }, signal })
    for (const row of page.data) if (!found.has(keyOf(row))) found.set(keyOf(row), row)
    after = page.next ?? undefined
  } while (after !== undefined && found.size < least)
  return { data: [...found.values()], next: after ?? null }
}

interface TableProps<T> {
  label: string
  rows: T[] | undefined
  columns: Column<T>[]
  keyOf(row: T): string | number
  /** Where a row leads; the first column is the link. */
  hrefOf?(row: T): string
  empty: ComponentChildren
  error?: Error | undefined
}

/** Rows that `j`, `k` and Enter move through. */
export function Table<T>({ label, rows, columns, keyOf, hrefOf, empty, error }: TableProps<T>) {
  const at = useRows({ length: rows?.length ?? 0 })
  if (rows === undefined) return error ? <Failure error={error} /> : <Loading />
  if (rows.length === 0) return <>{empty}</>
  return (
    <ScrollRegion class="table-box">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ name, wide }) => (
              <th key={name} scope="col" class={wide ? 'wide' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row)} data-row aria-current={index === at ? 'true' : undefined}>
              {columns.map(({ name, wide, cell }, column) => (
                <td key={name} class={wide ? 'wide' : undefined}>
                  {column === 0 && hrefOf ? <a href={hrefOf(row)}>{cell(row)}</a> : cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** How far an endless list goes on by itself: all of what is shown is asked for again and again. */
const MOST_BY_ITSELF = 500

interface MoreProps {
  list: Pick<Listed<unknown>, 'rows' | 'next' | 'more'>
  /** It goes on by itself once its end is seen. */
  isEndless?: boolean
}

/** A button for the next page of a list, where there is one. */
export function More({ list, isEndless = false }: MoreProps) {
  const end = useRef<HTMLDivElement>(null)
  const latest = useRef(list)
  latest.current = list
  const length = list.rows?.length ?? 0
  const goesOn = isEndless && list.next !== null && length < MOST_BY_ITSELF
  useEffect(() => {
    if (!goesOn || end.current === null) return
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return
      seen.disconnect()
      // The button is there for another try.
      void latest.current.more().catch(() => undefined)
    })
    seen.observe(end.current)
    return () => seen.disconnect()
  }, [goesOn, length])
  if (list.next === null) return null
  return (
    <div class="more" ref={end}>
      <Button onClick={list.more}>{t('Load more')}</Button>
    </div>
  )
}
