import { threadOf, type WebhookMessage } from '@parley/shared/message'
import { type Address, addressText, type MessageUser, ownAddresses } from '@parley/shared/providers/address'
import { allProviders } from '@parley/shared/providers/registry'
import { type People, type Place, placeOf } from './people.ts'
import type { PersonRecord } from './person.ts'

/**
 * Where a caller's message goes: to the thread that it names, else to that of the person whom it is for. A thread that is
 * named as the person's own address, however that is written, or as another one of the same person, is that person's.
 * Naming several addresses joins nobody: only providers say what is one person's.
 */
export function placeOfMessage(
  people: Pick<People, 'find'>,
  { workspace, message, messageId }: { workspace: number; message: WebhookMessage; messageId: string },
): Place | Promise<Place> {
  const { extId } = message.thread
  const named = addressOf(extId ? { phone: extId } : message.user)
  const person = extId && named ? addressOf(message.user) : named
  if (named === undefined || person === undefined) return { thread: threadOf(message, messageId), joined: [] }
  const isOwn = named.kind === person.kind && named.value === person.value
  const otherwise = { thread: isOwn ? named.value : threadOf(message, messageId), joined: [] }
  return people.find(workspace, person).then((found) => {
    const isTheirs = isOwn || (found !== undefined && isOf(found, { named, extId }))
    return found !== undefined && isTheirs ? placeOf(found) : otherwise
  })
}

function isOf(
  { addresses, threads }: PersonRecord,
  { named, extId }: { named: Address; extId: string | null | undefined },
): boolean {
  return addresses.includes(addressText(named)) || threads.includes(extId ?? '')
}

function addressOf(user: MessageUser): Address | undefined {
  for (const { addresses } of allProviders()) {
    const found = addresses.find(user)
    if (found !== undefined) return found
  }
  return ownAddresses(user)[0]
}
