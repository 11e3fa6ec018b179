import type { InternalClient } from '@parley/shared/internal-client'
import { splitPage } from '@parley/shared/list-query'
import { mapYielding } from '@parley/shared/map-yielding'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import { channelFields } from '../channels.ts'

const responseSchema = z.object({ data: z.array(channelFields), next: z.number().nullable() })
/** How many channels configuration is asked for at once, at most. */
const AT_ONCE = 200
const MAX_MS = 5_000

/** A page of the workspace's channels, lowest id first, as if there were no others than those that may be read. */
export async function readableChannels(options: {
  configuration: Pick<InternalClient, 'get'>
  workspace: number
  readable: Decision
  limit: number
  after: number | undefined
}) {
  const { configuration, workspace, readable, limit } = options
  const found: z.output<typeof channelFields>[] = []
  const until = performance.now() + MAX_MS
  let after = options.after ?? null
  let count = Math.min(limit + 1, AT_ONCE)
  do {
    if (performance.now() > until) {
      // A shorter page leads on, and names none that may not be read.
      if (found.length > 0) return { page: found, last: found.at(-1) }
      throw new Problem('unavailable', { detail: 'The list took too long.' })
    }
    const path = `/internal/workspaces/${workspace}/channels?limit=${count}&after=${after ?? ''}`
    const { data, next } = responseSchema.parse(await configuration.get(path))
    // A rule may search much of each channel.
    const some = await mapYielding(data, (channel) => (allows(readable, channel) ? [channel] : []))
    found.push(...some.flat())
    after = next
    count = AT_ONCE
  } while (found.length <= limit && after !== null)
  return splitPage(found, limit)
}
