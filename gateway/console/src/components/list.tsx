import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
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

/** A list of the API: its first page again every few seconds, and further ones on demand. */
export function useList<T>(
  path: string,
  query: Query = {},
  { everyMs = 5_000, ...options }: LoadOptions = {},
): Listed<T> {
  const key = `${path}?${JSON.stringify(query)}`
  const [further, setFurther] = useState<{ key: string; rows: T[]; next: string | null }>()
  const first = useLoad(key, (signal) => call<Page<T>>('GET', path, { query, signal }), {
    everyMs,
    ...options,
  })
  const own = further?.key === key ? further : undefined
  const next = own ? own.next : (first.data?.next ?? null)
  // What was loaded further stays, so the first page is shown as it was then.
  const [frozen, setFrozen] = useState<{ key: string; rows: T[] }>()
  useEffect(() => setFurther(undefined), [key])
  return {
    rows: own && frozen?.key === key ? [...frozen.rows, ...own.rows] : first.data?.data,
    error: first.error,
    next,
    more: async () => {
      if (next === null) return
      const page = await call<Page<T>>('GET', path, { query: { ...query, after: next } })
      if (!own) setFrozen({ key, rows: first.data?.data ?? [] })
      setFurther({ key, rows: [...(own?.rows ?? []), ...page.data], next: page.next })
    },
    reload: () => {
      setFurther(undefined)
      first.reload()
    },
  }
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

/** A button for the next page of a list, where there is one. */
export const More = ({ list }: { list: Pick<Listed<unknown>, 'next' | 'more'> }) =>
  list.next === null ? null : (
    <div class="more">
      <Button onClick={list.more}>Load more</Button>
    </div>
  )
