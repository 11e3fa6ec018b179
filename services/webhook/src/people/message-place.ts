import { threadOf, type WebhookMessage } from '@parley/shared/message'
import { type Address, type MessageUser, ownAddresses } from '@parley/shared/providers/address'
import { allProviders } from '@parley/shared/providers/registry'
import type { People, Place } from './people.ts'

/**
 * Where a caller's message goes: to the thread that it names, else to that of the person whom it is for. A thread that is
 * named as the person's own address, however that is written, or as any address of somebody who is known, is that
 * person's. Naming several addresses joins nobody: only providers say what is one person's.
 */
export function placeOfMessage(
  people: Pick<People, 'find'>,
  { workspace, message, messageId }: { workspace: number; message: WebhookMessage; messageId: string },
): Place | Promise<Place> {
  const { extId } = message.thread
  const person = addressOf(message.user)
  const named = extId ? addressOf({ phone: extId }) : person
  if (named === undefined) return { thread: threadOf(message, messageId), joined: [] }
  const isPersons = !extId || isSame(named, person)
  if (!isPersons && extId !== named.value) return { thread: extId, joined: [] }
  const own = { thread: named.value, joined: [] }
  return people.find(workspace, named).then((found) => found ?? own)
}

function addressOf(user: MessageUser): Address | undefined {
  const found = allProviders().flatMap(({ addresses }) => addresses.find(user) ?? [])
  return found[0] ?? ownAddresses(user)[0]
}

const isSame = (one: Address, other: Address | undefined): boolean =>
  one.kind === other?.kind && one.value === other.value
