import { call, type Page } from '../api.ts'

/** The config that names what was made, so that it can be removed by whoever may. */
export const RECORD = 'sample-data'

/** The documents that were made as sample data. */
export interface Made {
  /** In the order in which they were made. */
  documents: [resource: string, id: number][]
  phones: string[]
  messages: number
}

interface SampleRecord {
  _id: number
  value: Made
}

/** The record of the sample data that the workspace has; undefined where it has none. */
export async function sampleRecord(signal?: AbortSignal): Promise<SampleRecord | undefined> {
  const query = { name: RECORD, ownerType: 'workspace', limit: 1 }
  return (await call<Page<SampleRecord>>('GET', '/rest/configs', { query, signal })).data[0]
}
