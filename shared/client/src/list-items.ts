import type { Client } from 'openapi-fetch'
import type { paths } from './api-types.ts'
import { succeeded } from './parley-error.ts'

interface Page {
  data: unknown[]
  next: string | null
}
type PageOf<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body extends Page } } } }
}
  ? Body
  : never

/** The paths that respond with pages, but for those with an id. */
export type ListPath = {
  [P in keyof paths]: P extends `${string}{${string}` ? never : [PageOf<P>] extends [never] ? never : P
}[keyof paths]

export type ItemOf<P extends ListPath> = PageOf<P>['data'][number]

/** The query of a list; `limit` is the size of a page. */
export type QueryOf<P extends ListPath> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? Omit<NonNullable<Query>, 'after'>
  : never

/** The items of all pages of a list, each page read when it is come to. Throws a `ParleyError`. */
export async function* listItems<P extends ListPath>(
  api: Client<paths>,
  path: P,
  query?: QueryOf<P>,
): AsyncGenerator<ItemOf<P>> {
  // What holds for each of the paths, TypeScript does not see for all of them.
  const read = api.GET as (
    path: P,
    options: object,
  ) => Promise<{ data?: Page; error?: unknown; response: Response }>
  let after: string | null | undefined
  do {
    const page = await succeeded(read(path, { params: { query: { ...query, ...(after ? { after } : {}) } } }))
    yield* page.data as ItemOf<P>[]
    after = page.next
  } while (after !== null)
}
