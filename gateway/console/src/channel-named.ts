import type { Speaking } from '@parley/shared/providers/marked-up'
import { providerNamed, usualProvider } from '@parley/shared/providers/registry'
import { call, type Page } from './api.ts'
import { useLoad } from './load.ts'
import type { Document } from './resources.ts'
import { may } from './rights.ts'

/** Returns the provider that a channel sends by; the usual one if the channel may not be read or is not read yet. */
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
