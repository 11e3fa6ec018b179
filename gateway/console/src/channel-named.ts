import type { Speaking } from '@parley/shared/providers/marked-up'
import { providerNamed, usualProvider } from '@parley/shared/providers/registry'
import { call, type Page } from './api.ts'
import { useLoad } from './load.ts'
import type { Document } from './resources.ts'
import { may } from './rights.ts'

/** What a channel sends by; of one that may not be read, and until it is read, as the usual one. */
export function useChannelNamed(extId: string): Speaking {
  const { data } = useLoad(`channel called ${extId}`, async (signal) => {
    if (!may('read', 'channels')) return undefined
    const query = { extId, limit: 1 }
    const { data } = await call<Page<Document>>('GET', '/rest/channels', { query, signal })
    return data[0]
  })
  const provider = providerNamed(data?.callback) ?? usualProvider()
  return { callback: provider.name, config: (data?.config ?? {}) as Speaking['config'] }
}
