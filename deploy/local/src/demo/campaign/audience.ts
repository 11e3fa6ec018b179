import type { GatewayClient } from '../gateway-client.ts'

const AT_ONCE = 12
const CONSENT_TEXT = 'I would like to get offers by message.'

/** Why somebody is not to be written to; undefined for who is. */
type Unwritten = 'no_consent' | 'opted_out' | 'no_address'

/** A person of the demo's audience. */
export interface PlannedPerson {
  /** The digits of the number, or of somebody without one, what another provider knows them by. */
  phone: string
  name: string | undefined
  unwritten: Unwritten | undefined
}

/** Of 100 people, 20 never gave consent, 5 withdrew it, 2 have no number, and every seventh has no name. */
export function planPeople(count: number): PlannedPerson[] {
  return Array.from({ length: count }, (_, at) => ({
    phone: `55119${String(at).padStart(8, '0')}`,
    name: at % 7 === 3 ? undefined : `Customer ${at}`,
    unwritten: unwrittenAt(at % 100),
  }))
}

function unwrittenAt(place: number): Unwritten | undefined {
  if (place < 2) return 'no_address'
  if (place < 7) return 'opted_out'
  return place < 27 ? 'no_consent' : undefined
}

/** Makes the people through the API, and what they said to marketing. */
export async function addPeople(
  gateway: Pick<GatewayClient, 'call'>,
  { people, onAdded }: { people: readonly PlannedPerson[]; onAdded(): void },
): Promise<void> {
  const waiting = people.values()
  const work = async () => {
    for (const person of waiting) {
      await addPerson(gateway, person)
      onAdded()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function addPerson(
  gateway: Pick<GatewayClient, 'call'>,
  { phone, name, unwritten }: PlannedPerson,
): Promise<void> {
  const address = unwritten === 'no_address' ? `telegram:${phone}` : `phone:${phone}`
  const { _id } = (await gateway.call('POST', '/rest/people', { addresses: [address], name })) as {
    _id: string
  }
  if (unwritten === 'no_consent') return
  const marketing =
    unwritten === 'opted_out' ? { status: 'withdrawn' } : { status: 'granted', text: CONSENT_TEXT }
  await gateway.call('PATCH', `/rest/people/${_id}`, { consent: { marketing } })
}
