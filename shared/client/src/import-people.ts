import type { Parley, Schemas } from './parley.ts'
import { succeeded } from './parley-error.ts'

/** So much of a file is sent at once: some thousands of rows. */
const PART_BYTES = 1024 * 1024

/** The state of an import of a file of people. */
export type PeopleImport = Schemas['PeopleImport']

export interface ImportOptions {
  contentType: 'text/csv' | 'application/x-ndjson'
  /** Names the file: under the same key it goes on where it broke off, and no row counts twice. */
  key: string
  /** For all who are in it, separated by commas. */
  tag?: string | undefined
  ignoreColumns?: boolean | undefined
  signal?: AbortSignal
}

/**
 * Imports a file of people part by part, and yields after each what has become of it. Throws a `ParleyError` where it is
 * refused, and where Parley can't be reached.
 */
export async function* importPeople(
  { api }: Pick<Parley, 'api'>,
  file: Blob,
  { contentType, key, tag, ignoreColumns = false, signal }: ImportOptions,
): AsyncGenerator<PeopleImport> {
  for (let [offset, end] = [0, PART_BYTES]; ; ) {
    const hasMore = end < file.size
    const query = {
      ...({ offset, more: `${hasMore}`, ignoreColumns: `${ignoreColumns}` } as const),
      ...(tag && { tag }),
    }
    const found = await succeeded(
      api.POST('/rest/people/imports', {
        params: { query, header: { 'Idempotency-Key': key } },
        headers: { 'content-type': contentType },
        body: file.slice(offset, end) as unknown as string,
        bodySerializer: (part: unknown) => part as Blob,
        ...(signal && { signal }),
      }),
    )
    yield found
    if (!hasMore || found.state !== 'open') return
    // A row that is longer than a part takes what is left of the file.
    end = found.offset > offset ? found.offset + PART_BYTES : file.size
    offset = found.offset
  }
}
