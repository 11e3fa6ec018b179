import { addressKey } from '@parley/shared/address-key'
import type { Caller } from '@parley/shared/internal-token'

/** Callers whose token was verified are bounded apart from all others. */
export type CallerClass = 'anonymous' | 'authenticated'

/** Whose share a request takes: an API token's, an account's, or an address'. */
export function classOf({ locals }: { locals: Record<string, unknown> }): { name: CallerClass; key: string } {
  const caller = locals.caller as Caller | undefined
  if (caller === undefined)
    return { name: 'anonymous', key: addressKey((locals.forwarding as { address: string }).address) }
  const { token, account } = caller
  return { name: 'authenticated', key: token === undefined ? `account ${account._id}` : `token ${token}` }
}
