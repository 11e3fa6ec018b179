import type { InternalClient } from '@parley/shared/internal-client'
import { z } from 'zod'
import type { PersonRecord } from '../store/person-record.ts'

const MAX_NAMED = 64

const found = z.object({
  data: z.array(z.looseObject({ addresses: z.array(z.string()), threads: z.array(z.string()) })),
})

/**
 * What the webhook service knows of whoever has a person's addresses, as it says whose thread is whose; with it, how the
 * dispatcher is asked for the person. Rejects with `unavailable`.
 */
export async function addressBookOf(
  webhook: Pick<InternalClient, 'post'>,
  { workspace, addresses }: Pick<PersonRecord, 'workspace' | 'addresses'>,
) {
  const path = `/internal/workspaces/${workspace}/people/find`
  const book = found.parse(await webhook.post(path, { addresses })).data
  const all = [...addresses, ...book.flatMap((one) => one.addresses)]
  const named = {
    addresses: [...new Set(all)].slice(0, MAX_NAMED),
    threads: [...new Set(book.flatMap((one) => one.threads))].slice(0, MAX_NAMED),
  }
  return { book, named }
}
